"""Values of a request, within limits: those of its query, and of a form that was posted from this server."""

from collections.abc import Container
from urllib.parse import parse_qs

from anyio import fail_after
from starlette.datastructures import QueryParams
from starlette.requests import ClientDisconnect, Request

from streaming.web.context import BadRequest, Busy, Context, Refused
from streaming.web.security.forms import comes_from_here

LARGEST_FORM = 10_000
MOST_FIELDS = 20
WITHIN_S = 10.0  # a form comes with its request, or a moment later
MOST_AT_ONCE = 50

Form = dict[str, str]


def text(query: QueryParams, name: str, most: int = 255) -> str:
    """The text of a parameter: empty if it is missing; cut if it is too long."""
    return query.get(name, "")[:most]


def one_of(query: QueryParams, name: str, known: Container[str], default: str = "") -> str:
    """The value of a parameter; the default if it is not a known word."""
    given = query.get(name, "")
    return given if given in known else default


def number(query: QueryParams, name: str, least: int, most: int, default: int) -> int:
    given = query.get(name, "")
    if not (given.isascii() and given.isdecimal() and len(given) <= 9):
        return default
    return min(max(int(given), least), most)


def required(query: QueryParams, name: str, most: int = 1000) -> str:
    """The text of a parameter. Raises BadRequest if it is missing or too long."""
    given = query.get(name, "")
    if not given or len(given) > most:
        raise BadRequest(f"{name}: a text of 1 to {most} characters")
    return given


class PostedForms:
    """Forms that are being read. A client that sends half a form takes one of few places, for seconds."""

    def __init__(self, context: Context) -> None:
        self._context = context
        self._at_once = 0

    async def read(self, request: Request) -> Form:
        """The first value of each field. Raises Busy; BadRequest for a form that is too large, too slow, or none."""
        if self._at_once >= MOST_AT_ONCE:
            raise Busy
        self._at_once += 1
        try:
            with fail_after(WITHIN_S):
                return _fields(await _body(request))
        except TimeoutError as error:
            raise BadRequest(f"a form within {WITHIN_S:g} s") from error
        except ClientDisconnect as error:
            raise BadRequest("a whole form") from error
        finally:
            self._at_once -= 1

    def require_ours(self, request: Request, form: Form) -> None:
        """Raise Refused if the form may come from another site."""
        user, headers = self._context.user(request), request.headers
        is_ours = comes_from_here(headers.get("host", ""), headers.get("origin", ""), headers.get("sec-fetch-site", ""))
        if not is_ours or not self._context.forms.is_valid(
            form.get("token", ""), user.name, self._context.watch.now_ms()
        ):
            raise Refused(self._context.words(request)("old_form"))


async def _body(request: Request) -> bytes:
    body = b""
    async for piece in request.stream():
        body += piece
        if len(body) > LARGEST_FORM:
            raise BadRequest(f"a form of at most {LARGEST_FORM} bytes")
    return body


def _fields(body: bytes) -> Form:
    try:
        fields = parse_qs(body.decode(), max_num_fields=MOST_FIELDS)
    except ValueError as error:
        raise BadRequest("a form") from error
    return {"id": ""} | {name: values[0] for name, values in fields.items()}
