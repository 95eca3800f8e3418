# expected: len(reply['figures']) == 1 and 'Best: Technology 2.60%' in output and 'Worst: Consumer Defensive -2.49%' in output and 'no session on 2023-06-17' in output
# A snapshot of a Saturday, which the API answers with nothing.
sectors = fmp.sector_performance(date="2023-06-17")
sectors = sectors.sort_values("averageChange")
best, worst = sectors.iloc[-1], sectors.iloc[0]
print(f"Best: {best['sector']} {best['averageChange']:.2f}%")
print(f"Worst: {worst['sector']} {worst['averageChange']:.2f}%")
colors = ["green" if x > 0 else "red" for x in sectors["averageChange"]]
plt.barh(sectors["sector"], sectors["averageChange"], color=colors)
plt.title(f"Sectors on {sectors['date'].iloc[0]:%d %B %Y}")
