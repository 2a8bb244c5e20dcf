"""The interface is what its description says: asked by schemathesis, with what the schema allows and what it does not."""

from __future__ import annotations

import contextlib
import re
from collections.abc import Iterator
from typing import Any

import pytest
import schemathesis
from hypothesis import HealthCheck, given, settings
from hypothesis.errors import Unsatisfiable
from schemathesis import GenerationMode
from schemathesis.core.failures import FailureGroup
from schemathesis.specs.openapi.checks import positive_data_acceptance

from recalld.web import openapi
from recalld.web.routes import PATHS, ROUTES, Route
from web_house import Web, web_of

EXAMPLES = 12
DESCRIBED = schemathesis.openapi.from_dict(openapi.describe())
SKIPPED = ("/events", "/doctor")
"""A stream without an end, and a look at the whole machine."""


@pytest.fixture(scope="module")
def web(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Web]:
    with web_of(tmp_path_factory.mktemp("web")) as made:
        for number in range(5):
            made.add(f"Fact number {number} stands.", tags=["area:x"])
        yield made


def test_the_description_is_whole() -> None:
    """Every route, every type that is spoken of, each operation under a name of its own."""
    document = openapi.describe()
    said = {(method.upper(), path) for path, methods in document["paths"].items() for method in methods}
    assert said == {(route.method, route.path) for route in ROUTES}
    names = [one["operationId"] for methods in document["paths"].values() for one in methods.values()]
    assert len(names) == len(set(names))
    spoken_of = set(re.findall(r"#/components/schemas/(\w+)", str(document)))
    assert spoken_of <= set(document["components"]["schemas"])
    assert set(re.findall(r"\{(\w+)\}", " ".join(route.path for route in ROUTES))) == set(PATHS)
    assert all(schema.get("title") for schema in document["components"]["schemas"].values())


@pytest.mark.parametrize(
    "route", [route for route in ROUTES if route.path not in SKIPPED], ids=lambda route: f"{route.method} {route.path}"
)
def test_a_route_does_what_its_description_says(web: Web, route: Route) -> None:
    """Answers only as described, whatever it is asked: no error of ours, and what is wrong is refused."""
    operation = DESCRIBED[route.path][route.method]
    failures: list[str] = []

    known = web.get("/memories?limit=1&sort=oldest")["items"][0]["id"]

    def once(case: Any) -> None:
        if mode is GenerationMode.POSITIVE and "id" in case.path_parameters and route.method != "DELETE":
            case.path_parameters["id"] = known  # else it would be about one that is not there every time
        try:
            case.call_and_validate(
                base_url=web.url, headers={"Authorization": f"Bearer {web.token}"},
                excluded_checks=[positive_data_acceptance],  # a project by that name need not be there, say
            )  # fmt: skip
        except FailureGroup as group:
            failures.append("\n".join(str(error) for error in group.exceptions))

    calm = settings(
        max_examples=EXAMPLES, deadline=None, derandomize=True, database=None, suppress_health_check=list(HealthCheck)
    )
    for mode in GenerationMode:
        with contextlib.suppress(Unsatisfiable):  # nothing can be wrong in a request that says nothing
            calm(given(case=operation.as_strategy(generation_mode=mode))(once))()
    assert not failures, failures[0]
