"""Schemathesis asks the REST API whatever its OpenAPI description allows, and what it does not: the two must agree."""

import jsonschema_rs
import pytest
import schemathesis
from hypothesis import HealthCheck, Phase, given, settings
from schemathesis import GenerationMode
from schemathesis.checks import not_a_server_error
from schemathesis.specs.openapi.checks import (
    content_type_conformance,
    negative_data_rejection,
    response_headers_conformance,
    response_schema_conformance,
    status_code_conformance,
)

from tests.rest_client import GAMES, api

# Not among them: that all that fits is accepted. A schema can't say which boards a game can reach; see the last test.
CHECKS = [
    not_a_server_error,
    status_code_conformance,
    content_type_conformance,
    response_headers_conformance,
    response_schema_conformance,
    negative_data_rejection,
]
CALLS = [
    *(("POST", f"/{game}/{call}") for game in GAMES for call in ("move", "evaluate", "train")),
    *(("GET", path) for path in ("/games", "/jobs/{id}", "/health", "/metrics")),
]


SEARCHES = [(method, path) for method, path in CALLS if path.endswith(("/move", "/evaluate"))]


@pytest.fixture(scope="module")
def schema():
    return schemathesis.openapi.from_asgi("/openapi.json", api(training_token="nobody knows it"))


def test_every_call_is_described(schema):
    described = {(method.upper(), path) for path, calls in schema.raw_schema["paths"].items() for method in calls}
    assert described == set(CALLS)


def examples(operation, mode):
    """Run the test below on so many cases, the same every time."""

    def decorate(test):
        chosen = settings(
            max_examples=30,
            derandomize=True,
            deadline=None,
            database=None,
            phases=[Phase.generate],
            suppress_health_check=list(HealthCheck),
        )
        return chosen(given(case=operation.as_strategy(generation_mode=mode))(test))

    return decorate


def body_of(operation):
    """A call's example body, and a function that says whether another one fits the description."""
    described = operation.definition.raw["requestBody"]["content"]["application/json"]
    return described["example"], jsonschema_rs.validator_for(described["schema"]).is_valid


def hurry(path, body):
    """Nobody has ten seconds for each case."""
    if path.endswith("/move"):
        body["timeLimit"] = min(body.get("timeLimit") or 1, 0.01)


@pytest.mark.parametrize(("method", "path"), CALLS)
def test_what_fits_the_description_gets_an_answer_of_it(schema, method, path):
    @examples(schema[path][method], GenerationMode.POSITIVE)
    def ask(case):
        hurry(path, case.body)
        case.call_and_validate(checks=CHECKS)

    ask()


@pytest.mark.parametrize(("method", "path"), SEARCHES)
def test_what_does_not_fit_is_refused(schema, method, path):
    operation = schema[path][method]
    body, fits = body_of(operation)

    @examples(operation, GenerationMode.NEGATIVE)
    def ask(case):
        case.call_and_validate(checks=CHECKS)
        # Once more with a good board, if something else is wrong: most boards of chance are refused for themselves.
        if isinstance(case.body, dict) and not fits(case.body | {"board": body["board"], "currentPlayer": 1}):
            case.body |= {"board": body["board"], "currentPlayer": 1}
            response = case.call()
            assert response.status_code == 400, case.body

    ask()


@pytest.mark.parametrize(("method", "path"), SEARCHES)
def test_on_a_board_of_the_game_all_that_fits_is_accepted(schema, method, path):
    operation = schema[path][method]
    start = body_of(operation)[0]["board"]

    @examples(operation, GenerationMode.POSITIVE)
    def ask(case):
        case.body |= {"board": start, "currentPlayer": 1}
        hurry(path, case.body)
        response = case.call()
        assert response.status_code == 200, response.text
        case.validate_response(response, checks=CHECKS)

    ask()
