"""The endpoints for questions: evidence, whole and as soon as anything is found."""

from collections.abc import Iterator
from dataclasses import replace
from typing import Annotated, Any

from fastapi import APIRouter, Query
from fastapi.responses import Response

from linkwalk.serve import events, openapi, schema
from linkwalk.serve.api import Api, timed
from linkwalk.serve.errors import not_found
from linkwalk.serve.work import Lane
from linkwalk.wiki import Answer

_EVENTS = {"search": "hits", "reading": "reading", "final": "answer"}
"""What the stages of an answer are called as events."""
_OF = schema.FindRequest.model_fields


def add_finding(router: APIRouter, api: Api) -> None:
    """Where claims and questions are sent to."""

    @router.post("/find", summary="Evidence", response_model=Answer, responses=openapi.POST, tags=["find"])
    async def find(asked: schema.FindRequest) -> Response:
        """Find the sentences that answer a question or bear on a claim, each with the clicks that led to it."""
        api.words("query", asked.query)
        _need_index(api)
        return await _lane(api, asked).run(
            timed(lambda: _shown(api, asked, api.wiki.find(asked.query, **_options(asked))))
        )

    @router.get(
        "/find/events",
        summary="Evidence, as soon as anything is found",
        response_class=Response,
        responses=openapi.events(
            "Events, each with the answer so far: `hits`, search results that nobody has read yet; `reading`, after "
            "every wave of reading, where there are several; `answer`, as `/api/v1/find` gives it. Or `failure`, with "
            "what every error has.",
            ["hits", "reading", "answer", "failure"],
            'event: hits\ndata: {"stage":"search"}\n\nevent: answer\ndata: {"stage":"final"}\n\n',
        ),
        tags=["find"],
    )
    async def find_events(
        query: Annotated[
            str,
            Query(
                min_length=1,
                description=_OF["query"].description,
                examples=["Who wrote the first computer program?"],
                json_schema_extra=schema.HAS_WORDS,
            ),
        ],
        limit: Annotated[int, Query(ge=1, le=20, description=_OF["limit"].description)] = 5,
        offset: Annotated[int, Query(ge=0, le=100, description=_OF["offset"].description)] = 0,
        candidates: Annotated[int, Query(ge=1, le=100, description=_OF["candidates"].description)] = 20,
        navigation: Annotated[schema.Navigation, Query(description=_OF["navigation"].description)] = "tabs",
        rerank: Annotated[schema.Rerank | None, Query(description=_OF["rerank"].description)] = None,
    ) -> Response:
        """The same as server-sent events: search results at once, then what reading makes of them."""
        api.words("query", query)  # no event, but an error like any other value that is not valid
        asked = schema.FindRequest(
            query=query,
            limit=limit,
            offset=offset,
            candidates=candidates,
            navigation=navigation,
            rerank=rerank,
        )

        def begin() -> Iterator[tuple[str, Any]]:
            _need_index(api)
            for answer in api.wiki.find_waves(asked.query, **_options(asked)):
                yield _EVENTS[answer.stage], _shown(api, asked, answer)

        return events.stream_waves(api.lanes.search, _lane(api, asked), begin)


def _need_index(api: Api) -> None:
    if not api.health.find:
        raise not_found(api.health.missing["find"])


def _options(asked: schema.FindRequest) -> dict[str, Any]:
    options = asked.model_dump(include={"candidates", "rerank", "navigation"})
    return options | {"count": asked.offset + asked.limit}


def _shown(api: Api, asked: schema.FindRequest, answer: Answer) -> Answer:
    """An answer as it is sent: the same question has the same, so time is no part of it."""
    if answer.stage == "final":
        api.metrics.evidence.inc(len(answer.evidence))
    # A reranker of the server's own may be a folder, whose path is nobody's business.
    own = asked.rerank or api.health.rerank
    return replace(answer.untimed, rerank=own, evidence=answer.evidence[asked.offset :])


def _lane(api: Api, asked: schema.FindRequest) -> Lane:
    """Search results alone, ranked by TF-IDF, need no torch and need not wait for those that do."""
    light = asked.navigation in ("none", "lead", "expand", "pagerank") and asked.rerank in ("tfidf", "none")
    return api.lanes.walks if light else api.lanes.torch
