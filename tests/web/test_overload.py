"""200 clients at a time: each is answered, by a run or by 503, in time."""

import json
from concurrent.futures import ThreadPoolExecutor

from bench import client
from service import wait_for

CLIENTS = 200
SECONDS = 4
SLACK = 5


def statuses_of(answers, longest):
    assert all(answer.status in (200, 503) for answer in answers), [
        answer for answer in answers if answer.status not in (200, 503)][:5]
    assert all(b"\r\nRetry-After: " in answer.start for answer in answers
               if answer.status == 503)
    assert max(answer.seconds for answer in answers) < longest + SLACK
    return {answer.status for answer in answers}


def test_short_runs_of_many_clients_are_all_answered(service):
    answers = client.closed_loop(service.port, CLIENTS, SECONDS)
    assert 200 in statuses_of(answers, longest=10)  # queue_wait


def test_who_finds_no_place_in_time_is_told(start):
    """Eight places or so for runs that take 0.2 s, and no wait above 1 s, be
    it for a worker or for a child."""
    service = start(queue_wait="1s")
    body = json.dumps({"code": "import time; time.sleep(0.2)\nprint(1)"})
    answers = client.closed_loop(service.port, CLIENTS, SECONDS,
                                 body.encode())
    assert statuses_of(answers, longest=1 + 0.2) == {200, 503}
    assert service.run("print(1)")["output"] == "1\n"


def test_a_hundred_runs_go_on_at_a_time(start):
    """The zygote then has more descriptors than a run may."""
    service = start(max_runs=100, ready=4)
    with ThreadPoolExecutor(100) as pool:
        runs = [pool.submit(service.run, "import time\ntime.sleep(8); print(1)")
                for _ in range(100)]
        wait_for(lambda: service.get("/status").json["runs"]["running"] == 100)
    assert {run.result()["output"] for run in runs} == {"1\n"}
