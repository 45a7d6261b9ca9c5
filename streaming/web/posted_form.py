"""A posted form: read within limits of size, time and number at once, and only if it is from this server."""

from urllib.parse import parse_qs

from anyio import fail_after
from starlette.requests import ClientDisconnect, Request

from streaming.web.context import BadRequest, Busy, Context, Refused
from streaming.web.security.forms import comes_from_here

LARGEST_FORM = 10_000
MOST_FIELDS = 20
WITHIN_S = 10.0  # a form comes with its request, or a moment later
MOST_AT_ONCE = 50

Form = dict[str, str]


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
