"""Estimate price elasticity with OLS."""
import numpy as np
import pandas as pd
import statsmodels.api as sm
import statsmodels.formula.api as smf
from statsmodels.stats.diagnostic import het_breuschpagan
from statsmodels.stats.outliers_influence import variance_inflation_factor


def simulate(n: int, seed: int = 7) -> pd.DataFrame:
    rng = np.random.default_rng(seed)
    price = rng.uniform(5, 20, n)
    income = rng.normal(50, 10, n)
    promo = rng.integers(0, 2, n)
    demand = 120 - 3.5 * price + 0.8 * income + 12 * promo + rng.normal(0, 5, n)
    return pd.DataFrame({"demand": demand, "price": price,
                         "income": income, "promo": promo})


def main():
    df = simulate(400)
    print(df.describe().round(2))

    # Matrix interface
    X = sm.add_constant(df[["price", "income", "promo"]])
    model = sm.OLS(df["demand"], X).fit()
    print(model.summary())

    # Formula interface, robust errors
    robust = smf.ols("demand ~ price + income + C(promo)", data=df).fit(cov_type="HC3")
    print("\nRobust standard errors:")
    print(robust.bse.round(4).to_string())

    bp = het_breuschpagan(model.resid, model.model.exog)
    print(f"\nBreusch-Pagan p-value: {bp[1]:.4f}")
    for i, name in enumerate(X.columns[1:], start=1):
        print(f"VIF {name:<8} {variance_inflation_factor(X.values, i):.3f}")

    return {name: float(value) for name, value in model.params.items()} | {
        "r2": float(model.rsquared)}


if __name__ == "__main__":
    result = main()
    print()
    for key, value in result.items():
        print(f"{key:>8}: {value:10.4f}")
    result
