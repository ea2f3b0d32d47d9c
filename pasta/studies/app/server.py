"""The server: pages at personal links, JSON behind them, and nothing about anybody else."""

from __future__ import annotations

import hashlib
import json
import re
from collections.abc import AsyncIterator, Callable
from contextlib import asynccontextmanager
from dataclasses import dataclass
from datetime import datetime
from functools import cached_property
from html import escape
from pathlib import Path
from typing import Annotated, Any

from anyio import to_thread
from fastapi import APIRouter, FastAPI, Request
from fastapi.exceptions import RequestValidationError
from fastapi.responses import FileResponse, HTMLResponse
from fastapi.responses import JSONResponse as PlainJSONResponse
from fastapi.staticfiles import StaticFiles
from jinja2 import Environment, FileSystemLoader, StrictUndefined
from markdown_it import MarkdownIt
from pydantic import BaseModel, ConfigDict, Field
from starlette.exceptions import HTTPException
from starlette.responses import Response

from pasta.studies.app.access import LinkError, Signer
from pasta.studies.app.database import Database, now
from pasta.studies.app.design import CONSENT, INSTRUCTIONS, PICTURES, THANKS, Design
from pasta.studies.app.fields import InvalidAnswerError
from pasta.studies.app.hourly import export_every_hour
from pasta.studies.app.people import join
from pasta.studies.app.protection import Guard, Limit, Meter, RefusalError, Sources, same_origin
from pasta.studies.app.taking_part import RefusedError, Stand, TakingPart

HERE = Path(__file__).parent
TEMPLATES, STATIC, WORDS = HERE / "templates", HERE / "static", "texts.en.json"
# Each person: a page asks for a state and sends an answer every few seconds at most.
PERSON = Limit(burst=60, per_second=10)
# Each network address: links that are not valid, public links and passwords.
STRANGER = Limit(burst=60, per_second=2)
PASSWORD = Limit(burst=8, per_second=0.1)
# Requests that are worked on at once: more threads than that only wait for each other.
THREADS = 8

Json = dict[str, Any]


class JSONResponse(PlainJSONResponse):
    """JSON in ASCII: half a character that somebody sent can go back in a message."""

    def render(self, content: Any) -> bytes:
        """The body."""
        return json.dumps(content, allow_nan=False, separators=(",", ":")).encode("ascii")


class _Sent(BaseModel):
    model_config = ConfigDict(extra="forbid", strict=True)


class Answer(_Sent):
    """An answer to one page."""

    step: Annotated[str, Field(max_length=300)]
    key: Annotated[str, Field(pattern=r"^[A-Za-z0-9_-]{8,64}$")]
    seconds: Annotated[float | None, Field(ge=0, le=1_000_000, allow_inf_nan=False)] = None
    answer: dict[str, Any]


class Confirmation(_Sent):
    """That somebody really means it."""

    confirm: bool


class Nothing(_Sent):
    """An empty object."""


@dataclass(frozen=True)
class Site:
    """A study that is being served."""

    design: Design
    database: Database
    signer: Signer
    clock: Callable[[], datetime] = now

    @cached_property
    def taking_part(self) -> TakingPart:
        """The people and their answers."""
        return TakingPart(self.design, self.database, self.clock)

    @cached_property
    def words(self) -> dict[str, str]:
        """The texts of the pages."""
        content: dict[str, str] = json.loads((STATIC / WORDS).read_text(encoding="utf-8"))
        return content

    @cached_property
    def version(self) -> str:
        """Something that changes with the files that browsers keep."""
        digest = hashlib.sha256()
        for file in sorted(STATIC.rglob("*")):
            if file.is_file():
                digest.update(file.read_bytes())
        return digest.hexdigest()[:12]

    @cached_property
    def _templates(self) -> Environment:
        loader = FileSystemLoader(TEMPLATES)
        return Environment(loader=loader, autoescape=True, undefined=StrictUndefined)

    @cached_property
    def _markdown(self) -> MarkdownIt:
        return MarkdownIt("commonmark", {"html": False})

    def render(self, template: str, **context: Any) -> str:
        """A page."""
        settings = self.design.settings
        return self._templates.get_template(template).render(
            title=settings.title,
            language=settings.language,
            kind=settings.kind,
            version=self.version,
            texts=self.words,
            **context,
        )

    def said(self, refusal: RefusalError) -> str:
        """What a person reads of a refusal."""
        return refusal.message or str(self.words[f"refused.{refusal.code}"])

    def html(self, name: str, address: Callable[[str], str]) -> str:
        """A Markdown file of the study; pictures of the study have their address in it."""
        made = str(self._markdown.render(self.design.text(name)))
        return re.sub(
            r'src="pictures/([0-9A-Za-z._-]+)"',
            lambda match: f'src="{address(match[1])}"' if match[1] in self.design.pictures else "",
            made,
        )

    def state(self, stand: Stand, token: str) -> Json:
        """What a page needs to know."""
        settings = self.design.settings

        def address(name: str) -> str:
            return f"/t/{token}/pictures/{name}"

        following = [] if stand.following is None else self.design.files(stand.following.page)
        return {
            "study": {
                "kind": settings.kind,
                "title": settings.title,
                "language": settings.language,
                "contact": settings.contact,
            },
            "csrf": self.signer.form_token("answer", stand.person),
            "progress": {"done": stand.done, "of": stand.of, "minutes_left": stand.minutes_left},
            "can_withdraw": stand.now.end not in ("withdrawn", "declined"),
            "next_pictures": [address(name) for name in following],
            "step": self._step(stand, address),
        }

    def _step(self, stand: Stand, address: Callable[[str], str]) -> Json:
        current = stand.now
        if current.step is None:
            end = current.end or "done"
            text = self.html(THANKS, address) if end == "done" else ""
            text = text or f"<p>{escape(self.words[f'end.{end}'])}</p>"
            made: Json = {"id": end, "kind": end, "html": text}
            if end == "done":
                made["code"] = self.design.settings.completion_code
            return made
        step = current.step
        made = {"id": current.id, "kind": step.kind, **self.design.page(step.page, address)}
        if step.kind == "consent":
            made["html"] = self.html(CONSENT, address)
        elif step.kind == "instructions":
            made["html"] = self.html(INSTRUCTIONS, address)
        if step.expected is not None and step.kind == "check":
            made |= {"try": current.attempt, "tries": step.tries, "wrong": current.wrong}
        return made


class Gate:
    """Lets requests in: valid links, not too many, sent by our own pages."""

    def __init__(self, site: Site) -> None:
        self.site = site
        self.sources = Sources()
        self.people, self.strangers = Meter(PERSON), Meter(STRANGER)
        self.passwords = Meter(PASSWORD)

    def source(self, request: Request) -> str:
        """Where a request comes from, under a name that says nothing."""
        return self.sources.name(request.client.host if request.client else "")

    def person(self, request: Request, token: str) -> str:
        """Who has this link; refuses a link that is forged or too old, and too many requests."""
        try:
            days = self.site.design.settings.link_days
            person = self.site.signer.read("person", token, days)
        except LinkError as error:
            self.strangers.admit(self.source(request))
            raise _bad_link(error) from None
        self.people.admit(person)
        return person

    def link(self, request: Request, token: str) -> str:
        """Which public link this is."""
        self.strangers.admit(self.source(request))
        try:
            return self.site.signer.read("link", token, self.site.design.settings.link_days)
        except LinkError as error:
            raise _bad_link(error) from None

    def own_page(self, request: Request, purpose: str, owner: str) -> None:
        """Refuse what another site could have made a browser send."""
        if not same_origin(request.headers):
            raise RefusalError(403, "origin")
        given = request.headers.get("x-csrf-token", "")
        if not self.site.signer.is_form_token(given, purpose, owner):
            raise RefusalError(403, "csrf")
        kind = request.headers.get("content-type", "").partition(";")[0].strip().lower()
        if kind != "application/json":
            raise RefusalError(415, "not_json")


def make_app(site: Site, export_hours: float | None = None) -> FastAPI:
    """The application of a study; with ``export_hours`` it leaves an export behind so often."""
    from pasta.studies.app.dashboard import dashboard_routes

    @asynccontextmanager
    async def lifespan(_: FastAPI) -> AsyncIterator[None]:
        to_thread.current_default_thread_limiter().total_tokens = THREADS
        async with export_every_hour(site.design.folder, site.database, export_hours):
            yield
        site.database.close()

    app = FastAPI(
        title="Study",
        version="1",
        docs_url=None,
        redoc_url=None,
        openapi_url="/api/openapi.json",
        lifespan=lifespan,
    )
    gate = Gate(site)
    app.include_router(_pages(site, gate))
    app.include_router(_api(site, gate), prefix="/api")
    app.include_router(dashboard_routes(site, gate), prefix="/admin")
    app.mount("/static", _Static(directory=STATIC), name="static")
    _answer_errors(app, site)
    too_large = _refusal(site, RefusalError(413, "too_large"))
    app.add_middleware(Guard, too_large=bytes(too_large.body))
    return app


class _Static(StaticFiles):
    """Files of the pages; browsers may keep them, for their address has a version."""

    def file_response(self, *args: Any, **kwargs: Any) -> Response:
        """A file with how long it may be kept."""
        response = super().file_response(*args, **kwargs)
        response.headers["Cache-Control"] = "public, max-age=86400"
        return response


def _pages(site: Site, gate: Gate) -> APIRouter:
    router = APIRouter(include_in_schema=False)

    @router.get("/")
    async def home() -> HTMLResponse:
        return HTMLResponse(site.render("home.html"))

    @router.get("/t/{token}")
    async def participant(request: Request, token: str) -> HTMLResponse:
        person = gate.person(request, token)
        csrf = site.signer.form_token("answer", person)
        return HTMLResponse(site.render("participant.html", token=token, csrf=csrf))

    @router.get("/j/{token}")
    async def public(request: Request, token: str) -> HTMLResponse:
        link = gate.link(request, token)
        csrf = site.signer.form_token("join", link)
        return HTMLResponse(site.render("join.html", token=token, csrf=csrf))

    @router.get("/t/{token}/pictures/{name}")
    async def picture(request: Request, token: str, name: str) -> FileResponse:
        try:
            site.signer.read("person", token, site.design.settings.link_days)
        except LinkError as error:
            gate.strangers.admit(gate.source(request))
            raise _bad_link(error) from None
        return picture_file(site.design, name)

    return router


def picture_file(design: Design, name: str) -> FileResponse:
    """A picture of the study; only names that the study lists lead to a file."""
    if name not in design.pictures:
        raise RefusalError(404, "not_found")
    kept = {"Cache-Control": "private, max-age=86400"}
    kind = "image/jpeg" if name.endswith(".jpg") else "image/png"
    return FileResponse(design.folder / PICTURES / name, media_type=kind, headers=kept)


def _api(site: Site, gate: Gate) -> APIRouter:
    router = APIRouter()
    people = site.taking_part

    @router.get("/t/{token}", summary="Where a person stands")
    def state(request: Request, token: str) -> JSONResponse:
        person = gate.person(request, token)
        return JSONResponse(site.state(people.stand(person), token))

    @router.post("/t/{token}/answer", summary="Answer the page that comes next")
    def answer(request: Request, token: str, sent: Answer) -> JSONResponse:
        person = gate.person(request, token)
        gate.own_page(request, "answer", person)
        try:
            stand, repeated = people.answer(person, sent.step, sent.key, sent.seconds, sent.answer)
        except RefusedError as error:
            if error.problem == "not_found":
                raise
            status = 410 if error.problem == "place_lost" else 409
            after = site.state(people.stand(person), token)
            return _refusal(site, RefusalError(status, error.problem), after)
        except InvalidAnswerError as error:
            raise RefusalError(422, "invalid_answer", str(error), error.field) from None
        known = {"accepted": True, "repeated": repeated, "state": site.state(stand, token)}
        return JSONResponse(known)

    @router.post("/t/{token}/withdraw", summary="Take consent back")
    def withdraw(request: Request, token: str, sent: Confirmation) -> JSONResponse:
        person = gate.person(request, token)
        gate.own_page(request, "answer", person)
        if not sent.confirm:
            raise RefusalError(422, "invalid_answer", field="confirm")
        return JSONResponse({"state": site.state(people.withdraw(person), token)})

    @router.post("/j/{token}", summary="Take part by a public link")
    def joining(request: Request, token: str, sent: Nothing) -> JSONResponse:  # noqa: ARG001
        link = gate.link(request, token)
        gate.own_page(request, "join", link)
        person = join(site.database, link)
        if person is None:
            raise RefusalError(409, "full")
        return JSONResponse({"link": f"/t/{site.signer.sign('person', person)}"})

    return router


def _bad_link(error: LinkError) -> RefusalError:
    code = (410, "link_expired") if error.expired else (403, "link_invalid")
    return RefusalError(*code)


def _refusal(site: Site, refusal: RefusalError, state: Json | None = None) -> JSONResponse:
    """A refusal as JSON, with where the person stands if that is known."""
    error = {"code": refusal.code, "message": site.said(refusal), "field": refusal.field}
    content = {"error": error, "state": state}
    return JSONResponse(content, refusal.status, headers=refusal.headers)


def _answer_errors(app: FastAPI, site: Site) -> None:
    """Refuse in JSON, or with a page where a browser asks for one."""

    def refuse(request: Request, refusal: RefusalError) -> Response:
        wants_page = "text/html" in request.headers.get("accept", "")
        if wants_page and not request.url.path.startswith(("/api/", "/admin/api/")):
            page = site.render("error.html", status=refusal.status, message=site.said(refusal))
            return HTMLResponse(page, refusal.status, headers=refusal.headers)
        return _refusal(site, refusal)

    @app.exception_handler(RefusalError)
    async def refused(request: Request, error: RefusalError) -> Response:
        return refuse(request, error)

    @app.exception_handler(RefusedError)
    async def unknown(request: Request, _: RefusedError) -> Response:
        return refuse(request, RefusalError(403, "link_invalid"))  # signed, but of nobody

    @app.exception_handler(RequestValidationError)
    async def invalid(request: Request, error: RequestValidationError) -> Response:
        first = error.errors()[0]
        if first["type"] in ("json_invalid", "json_type"):
            return refuse(request, RefusalError(400, "not_json"))
        field = ".".join(str(one) for one in first["loc"][1:])[:80] or None
        message = f"{field}: {first['msg']}" if field else str(first["msg"])
        return refuse(request, RefusalError(422, "invalid_answer", message, field))

    @app.exception_handler(HTTPException)
    async def other(request: Request, error: HTTPException) -> Response:
        codes = {400: "not_json", 404: "not_found", 405: "method", 413: "too_large"}
        code = codes.get(error.status_code, "refused")
        return refuse(request, RefusalError(error.status_code, code, headers=error.headers))
