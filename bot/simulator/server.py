"""One simulator: a local Slack on a port of this machine."""

from collections.abc import Iterable
from typing import Any, Self

from aiohttp import web

from bot.simulator.api.faults_and_rate_limits import Faults
from bot.simulator.api.response_urls import ResponseUrls
from bot.simulator.api.web_api import WebApi, bearer
from bot.simulator.change_notifier import ChangeNotifier
from bot.simulator.events.event_publisher import EventPublisher
from bot.simulator.events.socket_mode import SocketMode
from bot.simulator.page_assets import PageAssets
from bot.simulator.people.click_gestures import ClickGestures
from bot.simulator.people.message_gestures import MessageGestures
from bot.simulator.people.modal_gestures import ModalGestures
from bot.simulator.simulated_slack import SimulatedSlack
from bot.simulator.simulator_settings import SimulatorSettings, Switches, app_of, installed_manifest
from bot.simulator.slack_records import Json, Kind, Person
from bot.simulator.test_api.control_api import ControlApi
from bot.simulator.test_api.failure_controls import FailureControls
from bot.simulator.test_api.workspace_reader import WorkspaceReader
from bot.simulator.traffic_statistics import FirstResponseTimes, percentiles
from bot.simulator.workspace import Workspace, add_default_people_and_channels

BODY_BYTES = 16 * 1024 * 1024
VERBS = (
    "say",
    "bot_says",
    "edit",
    "delete",
    "unfurl",
    "join",
    "leave",
    "send_event",
    "click",
    "command",
    "press_stop",
    "open_home",
    "submit_view",
    "close_view",
    "click_view",
    "thread",
    "message",
    "messages",
    "ephemerals",
    "modal",
    "home",
    "session",
    "prompts",
    "calls",
    "fail_next",
    "heal",
    "advance",
    "age_stream",
    "expire_stream",
    "kill_sockets",
    "refresh_sockets",
    "wait_connected",
    "wait_settled",
    "add_person",
    "add_channel",
    "traffic",
)


class Simulator:
    """A strict local Slack; `async with Simulator() as sim:` or `start` and `stop`.

    What people do (`say`, `click`, `command`, …), what they see (`thread`, `ephemerals`, …) and what goes wrong
    (`fail_next`, `switches`, …) are methods of this object; over HTTP the same names stand under `/control/`.
    """

    def __init__(self, settings: SimulatorSettings | None = None) -> None:
        self.settings = settings or SimulatorSettings()
        self.app = app_of(self.settings.manifest or installed_manifest())
        self.switches = Switches()
        self.changes = ChangeNotifier()
        fixed = self.settings
        self.workspace = Workspace(fixed.team_id, self.app.name, fixed.clock, fixed.stream_lifetime)
        add_default_people_and_channels(self.workspace)
        self.sockets = SocketMode(self.switches, self.changes)
        events = EventPublisher(self.workspace, self.app, self.switches, self.sockets)
        self._slack = SimulatedSlack(
            fixed, self.app, self.workspace, self.switches, self.changes, events, FirstResponseTimes()
        )
        faults = Faults()
        self._api = WebApi(self._slack, self.sockets, faults)
        self._responses = ResponseUrls(self._slack, faults)
        self._runner: web.AppRunner | None = None
        self._bind(faults)

    def _bind(self, faults: Faults) -> None:
        """Give the gestures, looks and troubles their names on this object."""
        writing, modals = MessageGestures(self._slack), ModalGestures(self._slack, self.sockets)
        pressing = ClickGestures(self._slack, self.sockets, self._responses)
        looking, trouble = (
            WorkspaceReader(self._slack, self._api),
            FailureControls(faults, self.workspace, self.changes),
        )
        self.say, self.bot_says, self.edit, self.delete = writing.say, writing.bot_says, writing.edit, writing.delete
        self.unfurl, self.join, self.leave, self.send_event = (
            writing.unfurl, writing.join, writing.leave, writing.send_event
        )  # fmt: skip
        self.click, self.command, self.press_stop, self.open_home = (
            pressing.click, pressing.command, pressing.press_stop, pressing.open_home
        )  # fmt: skip
        self.submit_view, self.close_view, self.click_view = modals.submit_view, modals.close_view, modals.click_view
        self.thread, self.message, self.messages = looking.thread, looking.message, looking.messages
        self.ephemerals, self.modal, self.home = looking.ephemerals, looking.modal, looking.home
        self.session, self.prompts, self.calls, self.wait_for = (
            looking.session, looking.prompts, looking.calls, looking.wait_for
        )  # fmt: skip
        self.fail_next, self.heal, self.advance = trouble.fail_next, trouble.heal, trouble.advance
        self.age_stream, self.expire_stream = trouble.age_stream, trouble.expire_stream
        self.kill_sockets, self.refresh_sockets = self.sockets.kill, self.sockets.refresh

    @property
    def url(self) -> str:
        """Where the page and the control API are, without a slash at the end."""
        return self._slack.base_url

    @property
    def api_url(self) -> str:
        """The base_url for a Slack client, with a slash at the end."""
        return f"{self._slack.base_url}/api/"

    async def start(self) -> Self:
        """Listen; raises OSError when the port is taken."""
        application = web.Application(client_max_size=BODY_BYTES)
        self._routes(application)
        self._runner = web.AppRunner(application, access_log=None, shutdown_timeout=1.0)
        await self._runner.setup()
        site = web.TCPSite(self._runner, self.settings.host, self.settings.port)
        try:
            await site.start()
        except OSError:
            await self._runner.cleanup()
            raise
        port = self._runner.addresses[0][1]
        self._slack.base_url = f"http://{self.settings.host}:{port}"
        return self

    async def stop(self) -> None:
        """Close every socket and stop listening."""
        self.changes.close()
        await self.sockets.close()
        if self._runner:
            await self._runner.cleanup()
            self._runner = None

    async def __aenter__(self) -> Self:
        return await self.start()

    async def __aexit__(self, *_: object) -> None:
        await self.stop()

    async def wait_connected(self, sockets: int = 1, timeout: float = 10.0) -> None:
        """Wait until the app has opened so many sockets; TimeoutError otherwise."""
        await self.wait_for(lambda: self.sockets.connected >= sockets, timeout)

    async def wait_settled(self, timeout: float = 10.0) -> None:
        """Wait until every event is acknowledged or given up; TimeoutError otherwise."""
        await self.wait_for(lambda: self.sockets.pending == 0, timeout)

    async def add_person(self, person_id: str, name: str, real_name: str = "", **about: Any) -> None:
        """Let someone more exist, with a DM; `about` as in `records.Person`."""
        self.workspace.add_person(
            Person(person_id, name, real_name or name, **{"team_id": self.settings.team_id, **about})
        )

    async def add_channel(
        self,
        channel_id: str,
        name: str,
        kind: Kind = "channel",
        members: Iterable[str] = (),
        external: bool = False,
    ) -> None:
        """Open a place with these members; put the bot's id, `U0HERMES`, among them where it shall be."""
        self.workspace.add_channel(channel_id, name, kind, set(members), external)

    async def traffic(self) -> Json:
        """Counts of sockets and envelopes; how long acknowledgements and first visible signs took, in milliseconds."""
        sockets, first_responses = self.sockets, self._slack.first_responses
        return {
            "connected": sockets.connected,
            "delivered": sockets.delivered,
            "pending": sockets.pending,
            "given_up": len(sockets.given_up),
            "acked": len(sockets.ack_seconds),
            "ack_ms": percentiles(sockets.ack_seconds),
            "signs": len(first_responses.seconds),
            "sign_ms": percentiles(first_responses.seconds),
        }

    def _routes(self, application: web.Application) -> None:
        application.router.add_post("/api/{method}", self._api.handle)
        application.router.add_get("/api/{method}", self._api.handle)
        application.router.add_get("/link", self.sockets.connect)
        application.router.add_post("/response/{token}", self._responses.handle)
        application.router.add_get("/files/{file}/{name}", self._download)
        PageAssets().add_routes(application)
        ControlApi({name: getattr(self, name) for name in VERBS}, self._slack).add_routes(application)

    async def _download(self, request: web.Request) -> web.StreamResponse:
        """A file, or the login page Slack shows with status 200 to whoever lacks the token (slack.md §6.5)."""
        found = self.workspace.files.get(request.match_info["file"])
        allowed = bearer(request) == self.settings.bot_token and "files:read" in self.app.scopes
        if found is None or not allowed:
            return web.Response(text="<!DOCTYPE html><title>Sign in</title>", content_type="text/html")
        shape, content = found
        return web.Response(body=content, content_type=shape["mimetype"])
