"""A simulator: a local Slack on a port of this machine."""

from collections.abc import Iterable
from typing import Any, Self

from aiohttp import web

from bot.simulator.api.faults_and_rate_limits import Faults
from bot.simulator.api.response_urls import ResponseUrls
from bot.simulator.api.simulated_web_api import WebApi, bearer
from bot.simulator.app_manifest import installed_manifest, parse_manifest
from bot.simulator.change_notifier import ChangeNotifier
from bot.simulator.events.event_publisher import EventPublisher
from bot.simulator.events.simulated_socket_mode import SocketMode
from bot.simulator.page_assets import PageAssets
from bot.simulator.people.interaction_gestures import InteractionGestures
from bot.simulator.people.message_gestures import MessageGestures
from bot.simulator.simulated_slack import SimulatedSlack
from bot.simulator.simulated_workspace import Workspace, add_default_people_and_channels
from bot.simulator.simulator_errors import SimulatorError
from bot.simulator.simulator_settings import SimulatorSettings, Switches
from bot.simulator.slack_records import Json, Kind, Person
from bot.simulator.test_api.control_api import ControlApi
from bot.simulator.test_api.workspace_reader import WorkspaceReader
from bot.simulator.traffic_statistics import FirstResponseTimes, traffic

HOST = "127.0.0.1"
BODY_BYTES = 16 * 1024 * 1024
# Methods of `Simulator` that the control API offers over HTTP.
VERBS = (
    "say", "bot_says", "edit", "delete", "unfurl", "join", "leave", "send_event",
    "click", "command", "press_stop", "open_home", "submit_view", "close_view", "click_view",
    "thread", "message", "messages", "ephemerals", "modal", "home", "session", "prompts", "calls",
    "fail_next", "clear_faults", "advance", "age_stream", "expire_stream", "kill_sockets", "refresh_sockets",
    "wait_connected", "wait_settled", "add_person", "add_channel", "traffic",
)  # fmt: skip


class Simulator:
    """A strict local Slack: `async with Simulator() as sim:`.
    What people do (`say`, `click`, `command`, …), what they see (`thread`, `ephemerals`, …) and failures (`fail_next`,
    `switches`, …) are methods and attributes of this object; over HTTP they have the same names under `/control/`.
    """

    def __init__(self, settings: SimulatorSettings | None = None) -> None:
        self.settings = settings or SimulatorSettings()
        self.app = parse_manifest(self.settings.manifest or installed_manifest())
        self.switches = Switches()
        self.changes = ChangeNotifier()
        self.workspace = Workspace(self.settings.team_id, self.app.name, self.settings.clock)
        add_default_people_and_channels(self.workspace)
        self.sockets = SocketMode(self.switches, self.changes)
        self._slack = SimulatedSlack(
            self.settings,
            self.app,
            self.workspace,
            self.switches,
            self.changes,
            EventPublisher(self.workspace, self.app, self.switches, self.sockets.send_event),
            FirstResponseTimes(),
        )
        self._faults = Faults()
        self._api = WebApi(self._slack, self.sockets, self._faults)
        self._response_urls = ResponseUrls(self._slack, self._faults)
        self._runner: web.AppRunner | None = None
        self._add_verbs()

    def _add_verbs(self) -> None:
        """Make gestures, readers and faults methods of this object."""
        write = MessageGestures(self._slack)
        self.say, self.bot_says, self.edit, self.delete = write.say, write.bot_says, write.edit, write.delete
        self.unfurl, self.join, self.leave, self.send_event = write.unfurl, write.join, write.leave, write.send_event
        self.convert = write.convert
        act = InteractionGestures(self._slack, self.sockets, self._response_urls)
        self.click, self.command, self.press_stop = act.click, act.command, act.press_stop
        self.open_home, self.click_view = act.open_home, act.click_view
        self.submit_view, self.close_view = act.submit_view, act.close_view
        read = WorkspaceReader(self._slack, self._api)
        self.thread, self.message, self.messages = read.thread, read.message, read.messages
        self.ephemerals, self.modal, self.home = read.ephemerals, read.modal, read.home
        self.session, self.prompts, self.calls, self.wait_for = read.session, read.prompts, read.calls, read.wait_for
        self.fail_next, self.clear_faults = self._faults.fail_next, self._faults.clear_faults
        self.kill_sockets, self.refresh_sockets = self.sockets.kill, self.sockets.refresh

    @property
    def url(self) -> str:
        """Return the address of the page and the control API, without a slash at the end."""
        return self._slack.base_url

    @property
    def api_url(self) -> str:
        """Return the base URL for a Slack client, with a slash at the end."""
        return f"{self._slack.base_url}/api/"

    async def __aenter__(self) -> Self:
        """Listen, or raise OSError if the port is in use."""
        application = web.Application(client_max_size=BODY_BYTES)
        self._add_routes(application)
        self._runner = web.AppRunner(application, access_log=None, shutdown_timeout=1.0)
        await self._runner.setup()
        try:
            await web.TCPSite(self._runner, HOST, self.settings.port).start()
        except OSError:
            await self._runner.cleanup()
            raise
        self._slack.base_url = f"http://{HOST}:{self._runner.addresses[0][1]}"
        return self

    async def __aexit__(self, *_: object) -> None:
        await self.stop()

    async def stop(self) -> None:
        """Close every connection and stop listening."""
        self.changes.close()
        await self.sockets.close()
        if self._runner:
            await self._runner.cleanup()
            self._runner = None

    async def wait_connected(self, sockets: int = 1, timeout: float = 30.0) -> None:
        """Wait until the app has this many open WebSockets, or raise TimeoutError."""
        await self.wait_for(lambda: self.sockets.connected >= sockets, timeout)

    async def wait_settled(self, timeout: float = 30.0) -> None:
        """Wait until every event is acknowledged or given up, or raise TimeoutError."""
        await self.wait_for(lambda: self.sockets.pending == 0, timeout)

    async def advance(self, seconds: float) -> None:
        """Advance Slack's time, for streams, triggers, response URLs and statuses."""
        self.workspace.advance(seconds)
        self.changes.notify("time")

    async def age_stream(self, ts: str, seconds: float) -> None:
        """Move the start of one stream this many seconds back."""
        for channel in self.workspace.channels.values():
            message = channel.messages.get(ts)
            if message and message.stream:
                message.stream.started -= seconds
                self.workspace.expire_stream(message)
                self.changes.notify("message", channel.id, ts)
                return
        raise SimulatorError("message_not_found")

    async def expire_stream(self, ts: str) -> None:
        """End one stream as Slack does after five minutes."""
        await self.age_stream(ts, 1e9)

    async def add_person(self, person_id: str, name: str, real_name: str = "", **about: Any) -> None:
        """Add a person and their DM with the bot; `about` are fields of `slack_records.Person`."""
        fields = {"team_id": self.settings.team_id, **about}
        self.workspace.add_person(Person(person_id, name, real_name or name, **fields))

    async def add_channel(
        self, channel_id: str, name: str, kind: Kind = "channel", members: Iterable[str] = (), external: bool = False
    ) -> None:
        """Add a channel with these members; the bot is `U0HERMES`."""
        self.workspace.add_channel(channel_id, name, kind, set(members), external)

    async def traffic(self) -> Json:
        """Return counts of sockets and envelopes, and response times in milliseconds."""
        return traffic(self.sockets, self._slack.first_responses)

    def _add_routes(self, application: web.Application) -> None:
        application.router.add_post("/api/{method}", self._api.handle)
        application.router.add_get("/api/{method}", self._api.handle)
        application.router.add_get("/link", self.sockets.connect)
        application.router.add_post("/response/{token}", self._response_urls.handle)
        application.router.add_get("/files/{file}/{name}", self._download)
        PageAssets().add_routes(application)
        ControlApi({name: getattr(self, name) for name in VERBS}, self._slack).add_routes(application)

    async def _download(self, request: web.Request) -> web.StreamResponse:
        """Return a file; without the token Slack returns a login page with status 200 (slack.md §6.5)."""
        found = self.workspace.files.get(request.match_info["file"])
        allowed = bearer(request) == self.settings.bot_token and "files:read" in self.app.scopes
        if found is None or not allowed:
            return web.Response(text="<!DOCTYPE html><title>Sign in</title>", content_type="text/html")
        about, content = found
        return web.Response(body=content, content_type=about["mimetype"])
