import warnings
warnings.filterwarnings("ignore")

import numpy as np
import pandas as pd
import seaborn as sns
import matplotlib.pyplot as plt

sns.set_theme(style="white", context="notebook")

rng = np.random.default_rng(3)
n = 150
species = np.repeat(["alpha", "beta", "gamma"], n // 3)
shift = pd.Series(species).map({"alpha": 0, "beta": 2, "gamma": 5}).to_numpy()

data = pd.DataFrame({
    "length": 10 + shift + rng.normal(0, 0.8, n),
    "width": 4 + 0.4 * shift + rng.normal(0, 0.4, n),
    "weight": 30 - 2 * shift + rng.normal(0, 1.5, n),
    "age": rng.gamma(4, 1.2, n),
    "species": species,
})

corr = data.drop(columns="species").corr()
print("Correlation matrix:")
print(corr.round(3))

# Strongest pair
pairs = corr.where(np.triu(np.ones(corr.shape, dtype=bool), k=1)).stack()
a, b = pairs.abs().idxmax()
print(f"\nStrongest correlation: {a} / {b} = {pairs[(a, b)]:.3f}")

# Heatmap
plt.figure(figsize=(7, 6))
mask = np.triu(np.ones_like(corr, dtype=bool), k=1)
sns.heatmap(corr, mask=mask, annot=True, fmt=".2f", cmap="coolwarm",
            vmin=-1, vmax=1, square=True, linewidths=0.5,
            cbar_kws={"shrink": 0.8, "label": "Pearson r"})
plt.title("Feature correlations")
plt.tight_layout()
plt.show()

# Pairplot
g = sns.pairplot(data, hue="species", vars=["length", "width", "weight"],
                 diag_kind="hist", height=2.2, plot_kws={"s": 18, "alpha": 0.7})
g.fig.suptitle("Pairwise relationships", y=1.02)
plt.show()

print(data.groupby("species").mean(numeric_only=True).round(2))
