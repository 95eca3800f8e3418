# expected: 'Beat 12 of 16' in output and 'average surprise 3.34%' in output
# Reported against expected earnings; the newest row is not out yet.
earnings = fmp.earnings("AAPL", limit=60).dropna(subset=["epsActual"])
earnings = earnings[(earnings["date"] >= "2020-01-01")
                    & (earnings["date"] <= "2023-12-31")].copy()
earnings["surprise"] = ((earnings["epsActual"] - earnings["epsEstimated"])
                        / earnings["epsEstimated"].abs() * 100)
beats = (earnings["epsActual"] > earnings["epsEstimated"]).sum()
print(f"Beat {beats} of {len(earnings)}, "
      f"average surprise {earnings['surprise'].mean():.2f}%")
