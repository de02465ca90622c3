"""The parallel plan of a capture as its user gives it, kept in the workspace as by ``--parallel`` and ``--groups``."""

from __future__ import annotations

from fastapi import APIRouter
from starlette.responses import Response

from stepscope.server.documentation import AnswerTypes
from stepscope.server.library import Library
from stepscope.server.replies import json_reply
from stepscope.server.requests import PlanRequest
from stepscope.store.given_plan import GivenPlan, given_plan, remember_plan


def router(library: Library, answers: AnswerTypes) -> APIRouter:
    """The routes of this file."""
    routes = APIRouter(tags=["analyses"])

    @routes.get("/run/{run_id}/plan", responses=answers.json(GivenPlan))
    def plan(run_id: str) -> Response:
        """The plan that was given; empty where none was, and files and calls tell."""
        run, _ = library.ready(run_id)
        return json_reply(given_plan(run.store.workspace) or GivenPlan())

    @routes.post("/run/{run_id}/plan", responses=answers.json(GivenPlan))
    def give_plan(run_id: str, wanted: PlanRequest) -> Response:
        """Give a plan, or forget it; it holds for all questions about this capture from now on."""
        run, _ = library.ready(run_id)
        remember_plan(run.store, wanted.parallel, wanted.groups)
        return json_reply(given_plan(run.store.workspace) or GivenPlan())

    return routes
