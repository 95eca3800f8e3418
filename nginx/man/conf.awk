# Makes sandbox-fcgi.conf(5) from the example file, which has every key with
# its default and what it does:  awk -f conf.awk sandbox-fcgi.conf

# What roff would take for its own is escaped; a sentence begins a line.
function escaped(text) {
    gsub(/\\/, "\\e", text)
    gsub(/-/, "\\-", text)
    gsub(/\. +/, ".\n", text)
    return text
}

function print_keys() {
    printf "%s%s", keys, text
    keys = text = ""
}

BEGIN {
    print ".Dd November 30, 2026\n.Dt SANDBOX-FCGI.CONF 5\n.Os\n" \
        ".Sh NAME\n.Nm sandbox\\-fcgi.conf\n" \
        ".Nd configuration of sandbox\\-fcgi\n" \
        ".Sh SYNOPSIS\n.Pa /etc/sandbox\\-fcgi.conf\n" \
        ".Sh DESCRIPTION\nAn ini file with one section,\n" \
        ".Cm [sandbox\\-fcgi] .\n" \
        "Without the file, and for each key that it does not set,\n" \
        "the defaults below hold."
}

NR <= 2 { next }
/^# ---- / {
    print_keys()
    print (has_list++ ? ".El\n" : "") ".Ss " escaped(substr($0, 8)) \
        "\n.Bl -tag -width Ds"
    next
}
/^#[a-z_]+ =/ {
    keys = keys ".It Cm " escaped(substr($0, 2)) "\n"
    next
}
/^# / {
    sub(/^# */, "")
    text = text (/^[.']/ ? "\\&" : "") escaped($0) "\n"
    next
}
{ print_keys() }

END {
    print_keys()
    print ".El\n.Sh SEE ALSO\n.Xr sandbox-fcgi 8"
}
