"""The pages of who runs the study, behind a password."""

from __future__ import annotations

import asyncio
import hashlib
import json
import time
from collections.abc import Callable
from typing import TYPE_CHECKING, Any

from fastapi import APIRouter, Form, Request
from fastapi.concurrency import run_in_threadpool
from fastapi.responses import FileResponse, HTMLResponse, JSONResponse, RedirectResponse
from starlette.responses import Response

from pasta.studies.app.access import SESSION_HOURS, LinkError, is_password, password_mark
from pasta.studies.app.hourly import mark, run_module
from pasta.studies.app.overview import overview, replay
from pasta.studies.app.protection import RefusalError, same_origin

if TYPE_CHECKING:
    from pasta.studies.app.server import Gate, Site

COOKIE = "study_admin"
_OVERVIEW_SECONDS = 2.0  # numbers are made anew at most so often,
_OVERVIEW_SHARE = 0.05  # and at most this share of the time: people who answer come first
_MEASURES_SECONDS = 60.0
_LOGIN = "login"  # whose form it is before anybody is known


class _Numbers:
    """The overview, made at most every other second, however many look at it and however large."""

    def __init__(self, site: Site) -> None:
        self._site = site
        self._made: tuple[float, tuple[object, ...], dict[str, Any]] | None = None
        self._due = 0.0
        self._lock = asyncio.Lock()
        self._measures: list[dict[str, Any]] | None = None
        self._measured: tuple[int, int] | None = None  # the answers that they are of
        self._measured_at = -_MEASURES_SECONDS
        self._task: asyncio.Task[None] | None = None

    async def get(self) -> tuple[str, dict[str, Any]]:
        """A tag that changes with the content, and the content."""
        async with self._lock:
            moment = time.monotonic()
            if self._made is None or moment >= self._due:
                await self._refresh(moment)
                done = time.monotonic()
                self._due = done + max(_OVERVIEW_SECONDS, (done - moment) / _OVERVIEW_SHARE)
            assert self._made is not None  # noqa: S101 (made above)
            content = self._made[2]
        text = json.dumps(content, sort_keys=True)
        return hashlib.sha256(text.encode()).hexdigest()[:20], content

    async def _refresh(self, moment: float) -> None:
        found = await run_in_threadpool(mark, self._site.database)
        self._measure(found, moment)
        state = (*found, self._measured)
        if self._made is not None and self._made[1] == state and moment - self._made[0] < 60:
            self._made = (self._made[0], state, self._made[2])
            return
        site = self._site
        content = await run_in_threadpool(overview, site.design, site.database, site.clock())
        content["so_far"] = self._measures
        self._made = (moment, state, content)

    def _measure(self, found: tuple[int, int], moment: float) -> None:
        """Measure anew what the answers say, in another process with libraries of its own."""
        idle = self._task is None or self._task.done()
        due = moment - self._measured_at >= _MEASURES_SECONDS
        if idle and due and found != self._measured:
            self._measured_at = moment
            self._task = asyncio.create_task(self._ask(found))

    async def _ask(self, found: tuple[int, int]) -> None:
        printed = await run_module("so_far", self._site.design.folder, self._site.database)
        if printed is not None:
            self._measures, self._measured = json.loads(printed), found


def dashboard_routes(site: Site, gate: Gate) -> APIRouter:
    """The routes below ``/admin``."""
    from pasta.studies.app.server import picture_file

    router = APIRouter(include_in_schema=False)
    numbers = _Numbers(site)
    session = _sessions(site)

    def login_page(status: int = 200, failed: bool = False) -> HTMLResponse:
        csrf = site.signer.form_token("login", _LOGIN)
        return HTMLResponse(site.render("login.html", csrf=csrf, failed=failed), status)

    @router.get("/login")
    async def login() -> HTMLResponse:
        return login_page()

    @router.post("/login")
    def enter(
        request: Request, password: str = Form(max_length=1000), csrf: str = Form(max_length=200)
    ) -> Response:
        if not same_origin(request.headers):
            raise RefusalError(403, "origin")
        if not site.signer.is_form_token(csrf, "login", _LOGIN):
            raise RefusalError(403, "csrf")
        gate.passwords.admit(gate.source(request))
        current = password_mark(site.design.folder)
        if current is None or not is_password(site.design.folder, password):
            return login_page(401, failed=True)
        response = RedirectResponse("/admin", 303)
        response.set_cookie(
            COOKIE,
            site.signer.sign("admin", current),
            max_age=int(SESSION_HOURS * 3600),
            path="/admin",
            secure=request.url.scheme == "https",
            httponly=True,
            samesite="strict",
        )
        return response

    @router.post("/logout")
    async def leave(request: Request, csrf: str = Form(max_length=200)) -> Response:
        owner = session(request)
        if not same_origin(request.headers) or not site.signer.is_form_token(csrf, "admin", owner):
            raise RefusalError(403, "csrf")
        response = RedirectResponse("/admin/login", 303)
        response.delete_cookie(COOKIE, path="/admin", httponly=True, samesite="strict")
        return response

    @router.get("")
    async def dashboard(request: Request) -> Response:
        try:
            owner = session(request)
        except RefusalError:
            return RedirectResponse("/admin/login", 303)
        csrf = site.signer.form_token("admin", owner)
        return HTMLResponse(site.render("dashboard.html", csrf=csrf))

    @router.get("/api/overview")
    async def progress(request: Request) -> Response:
        session(request)
        tag, content = await numbers.get()
        headers = {"ETag": f'"{tag}"', "Cache-Control": "private, no-cache"}
        if request.headers.get("if-none-match") == headers["ETag"]:
            return Response(status_code=304, headers=headers)
        return JSONResponse(content, headers=headers)

    @router.get("/api/people/{person}")
    def trials(request: Request, person: str) -> JSONResponse:
        session(request)
        found = replay(site.design, site.database, person)
        if found is None:
            raise RefusalError(404, "not_found")
        return JSONResponse(found)

    @router.get("/pictures/{name}")
    async def picture(request: Request, name: str) -> FileResponse:
        session(request)
        return picture_file(site.design, name)

    return router


def _sessions(site: Site) -> Callable[[Request], str]:
    """Says whose session a request belongs to; a new password ends the sessions under the old."""

    def session(request: Request) -> str:
        token = request.cookies.get(COOKIE, "")
        try:
            owner = site.signer.read("admin", token, SESSION_HOURS / 24)
        except LinkError:
            owner = ""
        if not owner or owner != password_mark(site.design.folder):
            raise RefusalError(401, "login")
        return owner

    return session
