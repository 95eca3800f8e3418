# Mean-variance (Markowitz) optimisation with cvxopt.
# `assets`, `returns` (monthly, rows = months) and `settings` come from the context.
import numpy as np
import pandas as pd
import matplotlib.pyplot as plt
from cvxopt import matrix, solvers

solvers.options["show_progress"] = False

R = pd.DataFrame(returns, columns=assets)
mu = R.mean().values * 12
cov = R.cov().values * 12
n = len(assets)
print(f"{len(R)} months, {n} assets")
assumptions = pd.DataFrame({"exp_return": mu, "volatility": np.sqrt(np.diag(cov))},
                           index=assets)
print((assumptions * 100).round(2).to_string())



def optimise(target):
    """Minimum variance for a target return; long only, fully invested, capped."""
    cap = settings["max_weight"]
    P = matrix(2 * cov)
    q = matrix(np.zeros(n))
    G = matrix(np.vstack([-mu, -np.eye(n), np.eye(n)]))
    h = matrix(np.hstack([-target, np.zeros(n), np.full(n, cap)]))
    A = matrix(np.ones((1, n)))
    b = matrix(1.0)
    sol = solvers.qp(P, q, G, h, A, b)
    if sol["status"] != "optimal":
        return None
    return np.array(sol["x"]).ravel()


w = optimise(settings["target_return"])
if w is None:
    raise ValueError("No feasible portfolio for that target")
w[np.abs(w) < 1e-6] = 0

port_ret = float(w @ mu)
port_vol = float(np.sqrt(w @ cov @ w))
sharpe = (port_ret - settings["risk_free"]) / port_vol
print(f"\nReturn {port_ret:.2%}  Volatility {port_vol:.2%}  Sharpe {sharpe:.2f}")

# Efficient frontier
targets = np.linspace(mu.min(), 0.12, 25)
frontier = [(np.sqrt(x @ cov @ x), x @ mu)
            for x in (optimise(t) for t in targets) if x is not None]
xs, ys = zip(*frontier)
fig, ax = plt.subplots(figsize=(8, 5))
ax.plot(np.array(xs) * 100, np.array(ys) * 100, "b-", lw=2, label="Efficient frontier")
ax.scatter(np.sqrt(np.diag(cov)) * 100, mu * 100, c="gray", label="Assets")
for name, x, y in zip(assets, np.sqrt(np.diag(cov)) * 100, mu * 100):
    ax.annotate(name, (x, y), xytext=(5, 5), textcoords="offset points")
ax.scatter([port_vol * 100], [port_ret * 100], marker="*", s=250, c="red", label="Chosen")
ax.set_xlabel("Volatility (% p.a.)")
ax.set_ylabel(r"Expected return $\mu$ (% p.a.)")
ax.legend()
plt.show()

weights = pd.DataFrame({
    "Asset": assets,
    "Weight": w,
    "Expected return": mu,
    "Risk contribution": w * (cov @ w) / port_vol ** 2,
}).sort_values("Weight", ascending=False).reset_index(drop=True)
stats_table = pd.DataFrame([
    {"Metric": "Return", "Value": port_ret},
    {"Metric": "Volatility", "Value": port_vol},
    {"Metric": "Sharpe", "Value": sharpe},
])
path = save_excel({"Weights": weights, "Statistics": stats_table}, "portfolio.xlsx",
                  number_formats={"Weight": "0.0%", "Expected return": "0.00%",
                                  "Risk contribution": "0.0%", "Value": "0.0000"})
print("Saved", path)
weights
