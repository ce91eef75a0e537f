"""Serves the files of the page from the package."""

from pathlib import Path

from aiohttp import web

FOLDER = Path(__file__).parent / "page"
CONTENT_TYPES = {".html": "text/html", ".css": "text/css", ".js": "text/javascript"}
HEADERS = {
    "Content-Security-Policy": "default-src 'self'; img-src https: data:; base-uri 'none'; frame-ancestors 'none'",
    "Cache-Control": "no-store",
    "X-Content-Type-Options": "nosniff",
}


class PageAssets:
    """The files in `page/`, read once at start; no other file is served."""

    def __init__(self) -> None:
        self._files = {path.name: path.read_bytes() for path in FOLDER.iterdir() if path.suffix in CONTENT_TYPES}

    def add_routes(self, application: web.Application) -> None:
        """Serve the page at `/` and at every permalink, and its files at `/page/`."""
        for path in ("/", "/archives/{channel}/{message}", "/page/{name}"):
            application.router.add_get(path, self._serve)

    async def _serve(self, request: web.Request) -> web.StreamResponse:
        name = request.match_info.get("name", "index.html")
        if name not in self._files:
            raise web.HTTPNotFound
        content_type = CONTENT_TYPES[Path(name).suffix]
        return web.Response(body=self._files[name], content_type=content_type, charset="utf-8", headers=HEADERS)
