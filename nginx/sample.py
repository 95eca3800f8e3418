"""sample.py URL: wait until the service is up, run one program, show what
came back. Exit status 1 when it does not come up or the program fails."""

import base64
import json
import struct
import sys
import time
import urllib.error
import urllib.request

CODE = """\
prices = fmp.historical_prices("AAPL", years=5)
prices["average"] = prices["close"].rolling(200).mean()
prices[["close", "average"]].plot(title="AAPL, five years")
save_excel(prices, "AAPL.xlsx")
print(f"{len(prices)} days, last close {prices['close'].iloc[-1]:.2f}")
prices["close"].pct_change().max()
"""


def wait(url):
    """Until /healthz says 200; give its last word when it does not."""
    until = time.monotonic() + 120
    while time.monotonic() < until:
        try:
            with urllib.request.urlopen(url + "/healthz", timeout=10):
                return None
        except urllib.error.HTTPError as answer:
            last = answer.read().decode()
        except OSError as error:
            last = str(error)
        time.sleep(0.1)
    return last


def show(reply):
    print("A sample run:")
    print("  output   ", reply["output"].strip())
    print("  result   ", reply["result"])
    for figure in reply["figures"]:
        png = base64.b64decode(figure)
        width, height = struct.unpack(">II", png[16:24])
        print(f"  figure    {width} x {height} pixels, {len(png)} bytes")
    for file in reply["files"]:
        print("  file     ", file["name"], file["size"], "bytes")
    for call in reply["market"]:
        print("  market   ", call["path"], call["status"], call["ms"], "ms")
    for note in reply["notes"]:
        print("  note     ", note)
    print(f"  took      {reply['seconds'] * 1000:.0f} ms")


def main(url):
    problem = wait(url)
    if problem:
        print(f"The service did not come up: {problem}", file=sys.stderr)
        return 1
    request = urllib.request.Request(
        url + "/run", json.dumps({"code": CODE}).encode(),
        {"Content-Type": "application/json"})
    with urllib.request.urlopen(request, timeout=120) as answer:
        reply = json.load(answer)
    if reply["error"]:
        print(reply["error"]["message"], file=sys.stderr)
        return 1
    show(reply)
    return 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1]))
