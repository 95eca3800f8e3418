# expected: [line.split() for line in output.splitlines()[-4:]] == [['2020', '154.53', '12.14%'], ['2021', '170.77', '10.51%'], ['2022', '195.02', '14.20%'], ['2023', '221.56', '13.61%']]
# Growth of revenue: wrong when the newest year comes first.
income = fmp.get_income_statement("MSFT", period="annual", limit=20)
income["growth"] = income["revenue"].pct_change()
recent = income[income["fiscalYear"].between(2020, 2023)]
for _, row in recent.iterrows():
    print(f"{row['fiscalYear']}  {row['revenue'] / 1e9:.2f}  "
          f"{row['growth']:.2%}")
