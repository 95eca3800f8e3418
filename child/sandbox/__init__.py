"""The Python half of sandbox-child.

warm       loads the libraries, once, in the zygote
run        one run, from the job to its report
namespace  what a program finds when it starts
errors     what is said of a program that failed
figures    every live figure
png        figures written by our own encoder
excel, word, markdown, office  the helpers save_excel and save_word
fmp        market data: a package of its own

Nothing here is trusted: it shares its process with the program. Whatever
it reports is checked by the responder, member by member.
"""
