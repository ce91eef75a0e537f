"""The demonstration model is a real HTTP server: it streams, keeps its pace, can be mounted, refuses in words."""

import asyncio
from collections.abc import AsyncIterator

import aiohttp
import pytest
from aiohttp import web

from bot.model.openai_client import ModelSettings, OpenAIModel
from bot.ports import ModelError, ModelRequest
from bot.simulator.demonstration import Demonstration
from tests.bot.simulator.demo_model_talk import Talk, talking


@pytest.fixture
async def talk() -> AsyncIterator[Talk]:
    async with talking() as made:
        yield made


async def test_an_answer_streams_in_pieces_that_make_the_whole(talk: Talk) -> None:
    pieces: list[str] = []

    class Ear:
        def text(self, delta: str) -> None:
            pieces.append(delta)

        def restart(self) -> None:
            pieces.clear()

    for text in ("tell me a story, a long one", "详细讲讲"):
        reply = await talk.model.ask(ModelRequest([{"role": "user", "content": text}]), Ear())
        assert "".join(pieces) == reply.text
        assert reply.usage.completion > 0
        pieces.clear()


async def test_it_streams_at_the_pace_it_is_given_and_stops_when_nobody_listens() -> None:
    slept: list[float] = []
    reached, gone = asyncio.Event(), asyncio.Event()

    async def sleep(seconds: float) -> None:
        slept.append(seconds)
        if len(slept) == 3:
            reached.set()
            try:
                await asyncio.Event().wait()
            finally:
                gone.set()

    async with Demonstration(delay=0.5, sleep=sleep) as demonstration:
        model = OpenAIModel(ModelSettings("demonstration", demonstration.base_url))
        asking = asyncio.create_task(model.ask(ModelRequest([{"role": "user", "content": "a long story"}])))
        async with asyncio.timeout(10):
            await reached.wait()
            asking.cancel()
            await gone.wait()
        assert slept == [0.5] * 3
        await model.aclose()


async def test_it_can_be_mounted_and_answers_bad_requests_in_words() -> None:
    application = web.Application()
    application.add_routes(Demonstration(delay=0).routes("/model/v1"))
    runner = web.AppRunner(application)
    await runner.setup()
    await web.TCPSite(runner, "127.0.0.1", 0).start()
    url = f"http://127.0.0.1:{runner.addresses[0][1]}/model/v1"
    model = OpenAIModel(ModelSettings("anything", url))
    await model.check()
    with pytest.raises(ModelError):
        await model.ask(ModelRequest([]))
    async with aiohttp.ClientSession() as http:
        async with http.get(f"{url}/models") as response:
            assert "demonstration" in await response.text()
        async with http.get(f"{url}/models/m") as response:
            assert (await response.json())["id"] == "m"
        for bad in ("{", "[]", '{"messages": 3}'):
            async with http.post(f"{url}/chat/completions", data=bad) as response:
                assert response.status == 400
        async with http.post(
            f"{url}/chat/completions", json={"messages": [{"role": "user", "content": "hi"}]}
        ) as response:
            assert "demonstration" in (await response.json())["choices"][0]["message"]["content"]
    await model.aclose()
    await runner.cleanup()
