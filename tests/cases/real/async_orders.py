from __future__ import annotations

import asyncio
import copy
import pickle
import time
from abc import ABC, abstractmethod
from collections import Counter
from concurrent.futures import ThreadPoolExecutor, as_completed
from dataclasses import asdict, dataclass, field, replace
from enum import Enum, auto
from functools import lru_cache
from typing import ClassVar, Iterable, Optional


class Status(Enum):
    NEW = auto()
    FILLED = auto()
    REJECTED = auto()


@dataclass
class Instrument(ABC):
    symbol: str
    base: float
    count: ClassVar[int] = 0

    def __post_init__(self) -> None:
        Instrument.count += 1

    @abstractmethod
    def price(self) -> float:
        """Price of one unit."""


class Stock(Instrument):
    def price(self) -> float:
        return self.base


@dataclass
class Option(Instrument):
    multiplier: int = 100

    def price(self) -> float:
        return self.base * self.multiplier


@dataclass(order=True)
class Order:
    id: int
    item: Instrument = field(compare=False)
    quantity: int = 1
    status: Status = field(default=Status.NEW, compare=False)
    tags: list[str] = field(default_factory=list, compare=False)

    @property
    def value(self) -> float:
        return self.item.price() * self.quantity


async def fill(order: Order, delay: float) -> Order:
    await asyncio.sleep(delay)
    ok = order.value < 10_000
    return replace(order, status=Status.FILLED if ok else Status.REJECTED)


@lru_cache(maxsize=None)
def fib(n: int) -> int:
    return n if n < 2 else fib(n - 1) + fib(n - 2)


def total(items: Iterable[Instrument], start: Optional[float] = None) -> float:
    return sum((i.price() for i in items), start or 0.0)


async def main() -> dict[str, int]:
    items = [Stock("AAA", 10.0), Stock("BBB", 25.5), Option("AAA-C", 3.2)]
    orders = [Order(i, items[i % 3], quantity=10 * (i + 1)) for i in range(9)]

    start = time.perf_counter()
    done = await asyncio.gather(*(fill(o, 0.2) for o in orders))
    print(f"{len(done)} orders, concurrent: {time.perf_counter() - start < 1.5}")
    by_status = Counter(order.status.name for order in done)
    print(max(done).id, dict(sorted(by_status.items())))
    print(done[0])

    # Round trips
    clone = pickle.loads(pickle.dumps(done))
    print("pickle equal:", clone == done, "| same class:", type(clone[0]) is Order)
    deep = copy.deepcopy(done[1])
    deep.tags.append("copy")
    print("deepcopy independent:", done[1].tags, deep.tags)
    print(asdict(done[2])["item"])

    # CPU work in threads, from the event loop and without
    loop = asyncio.get_running_loop()
    print("executor:", await loop.run_in_executor(None, fib, 50))
    with ThreadPoolExecutor(max_workers=4) as pool:
        futures = {pool.submit(fib, n): n for n in (10, 20, 30)}
        results = {futures[f]: f.result() for f in as_completed(futures)}
    print("threads:", dict(sorted(results.items())))

    try:
        await asyncio.wait_for(asyncio.sleep(30), timeout=0.05)
    except asyncio.TimeoutError:
        print("timed out as planned")
    print(f"total price {total(items):.2f}, instruments {Instrument.count}")
    return dict(by_status)


if __name__ == "__main__":
    asyncio.run(main())
