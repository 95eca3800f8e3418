"""Plans side by side: all calls of all plans, a few at a time."""

import collections

from sandbox.fmp.channel import AT_ONCE
from sandbox.fmp.errors import FMPError, FMPNotFoundError, FMPPlanError


def is_final(error):
    """Whether asking about other symbols would end the same way."""
    if isinstance(error, FMPPlanError):
        return error.scope not in ("symbol", "parameter")
    return error is not None and not isinstance(error, FMPNotFoundError)


class Running:
    """A plan under way: what it waits for, and what it came to."""

    def __init__(self, plan):
        self.plan = plan
        self.steps = plan.run()
        self.answers = []
        self.missing = 0
        self.rows = self.error = None

    def go_on(self, answers):
        """Let it go on with these answers; return the calls it then wants,
        none when it is done."""
        try:
            calls = list(self.steps.send(answers))
        except StopIteration as end:
            self.rows = end.value
            return []
        except FMPError as error:
            self.error = error.with_traceback(None)
            return []
        self.answers = [None] * len(calls)
        self.missing = len(calls)
        return calls


def run_all(plans, channel):
    """Drive plans to their ends over a channel; return their Runnings."""
    running = [Running(plan) for plan in plans]
    queue = collections.deque()
    under_way = {}
    for one in running:
        queue.extend((one, place, call)
                     for place, call in enumerate(one.go_on(None)))
    try:
        while queue or under_way:
            while queue and len(under_way) < AT_ONCE:
                one, place, call = queue.popleft()
                number = channel.start(call.path, call.params, call.refresh)
                under_way[number] = one, place
            for number, answer in channel.wait(under_way).items():
                one, place = under_way.pop(number)
                one.answers[place] = answer
                one.missing -= 1
                if not one.missing:
                    queue.extend((one, place, call) for place, call in
                                 enumerate(one.go_on(one.answers)))
                    if is_final(one.error):
                        return running
    finally:
        channel.forget(under_way)
    return running
