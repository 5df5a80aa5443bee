# Sourced by `handler`: the two that it stands between, ringwaked and the SIP client, and how it hears and tells them.

# ---- Two senders and one inbox, a pipe. What comes is made into lines of fields with $us between them, each written at
# once and shorter than PIPE_BUF, so that they do not mix. The readers only have the end to write: when this process is
# killed they notice.
us=$'\x1f'
exec {inbox}<> <(:) {never}<> <(:)

# member NAME LINE: a JSON member's text in $value, as it stands there. The first one is ours, as the payload comes
# last; and what stands in a text cannot look like a name, for its quotes have backslashes.
member() {
    local pattern="\"$1\":\"(([^\"\\]|\\\\.)*)\""
    if [[ $2 =~ $pattern ]]; then value=${BASH_REMATCH[1]}; else value= && return 1; fi
}

# plain TEXT: without its escapes. A Call-ID has no others.
plain() { value=${1//\\\//\/} value=${value//\\\"/\"} value=${value//\\\\/\\}; }

# What ringwaked says: a JSON object a line.
read_events() {
    local line fields name lost n
    while IFS= read -r line; do
        member event "$line" || continue
        fields=$value
        member call "$line" && plain "$value"
        fields+=$us$value
        for name in state endReason action digits kind secret; do
            member "$name" "$line"
            fields+=$us$value
        done
        if [[ $line == *'"claimMs":'* ]]; then lost=lost; else lost=; fi
        if [[ $line =~ \"number\":([0-9]+) ]]; then n=${BASH_REMATCH[1]}; else n=0; fi
        printf '%s\n' "$fields$us$lost$us$n" || exit
    done
    printf 'away\n'
}

# What the client says: netstrings, LENGTH:OBJECT and a comma.
read_client() {
    local length object comma id fields
    trap '' PIPE
    while IFS= read -r -d : length && IFS= read -r -N "$length" object && IFS= read -r -N 1 comma; do
        if [[ $object == '{"response":'* ]]; then
            member token "$object" && plain "$value" && id=$value || id=
            if [[ $object == *'"ok":true'* ]]; then fields=done; else fields=failed; fi
            member data "$object"
            fields+=$us$id$us${value:0:256}
        else
            member id "$object" && plain "$value" && id=$value || id=
            member type "$object"
            fields=sip$us$value$us$id
            member param "$object"
            fields+=$us${value:0:256}
            member peeruri "$object"
            ((${#value} > 256)) || fields+=$us$value
        fi
        printf '%s\n' "$fields" 2>/dev/null || { abandoned && return; }
    done
    printf 'left\n' 2>/dev/null
}

# The handler was killed. The next one goes on with the client, and takes this connection away by that; if there is
# none, the client is ended.
abandoned() { read -r -t 6 -u "$never" || printf '18:{"command":"quit"},' >&"$sip"; }

# ---- ringwaked

# The secret goes to curl through a descriptor: arguments can be read by every user of the machine.
authorization() { [[ -z $secret ]] || printf 'header = "Authorization: Bearer %s"\n' "$secret"; }

ask() { # ask TARGET [CURL'S ARGUMENTS]
    curl --silent --fail --max-time 10 --unix-socket "$control" --config <(authorization) --output /dev/null \
        "${@:2}" "http://ringwake/v1/$1"
}

encoded() { # encoded ID: as it stands in a path
    local i byte
    value=
    for ((i = 0; i < ${#1}; i++)); do
        byte=${1:i:1}
        if [[ $byte != [A-Za-z0-9._~@-] ]]; then
            printf -v byte '%d' "'$byte" && printf -v byte '%%%02X' $((byte & 255))
        fi
        value+=$byte
    done
}

say() { # say VERB CALL BODY
    encoded "$2"
    if ask "calls/$value/$1?app=$app" --header 'Content-Type: application/json' --data-binary @<(printf '%s' "$3"); then
        note "$1 $2 $3"
    else
        note "not done: $1 $2 $3" && return 1
    fi
}

fulfil() { owed[$1]= && say fulfill "$1" "{\"action\":\"$2\"}"; }
fail() { owed[$1]= && say fail "$1" "{\"action\":\"$2\"}"; }

# The stream of the app. When it was away, with the calls that are over and whose end it has not heard.
listen() {
    local since=$((highest + 1)) n target="events?app=$app&"
    for n in "${number[@]}"; do
        ((n == 0 || n > since)) || since=$n
    done
    [[ -z $stays ]] || target="apps/$app/handler?"
    ((highest == 0)) || target+="since=$since"
    # curl ends with this process, even when that is killed.
    exec {lines}< <(exec setpriv --pdeathsig TERM curl --silent --fail --no-buffer --unix-socket "$control" \
        --config <(authorization) "http://ringwake/v1/${target%[&?]}")
    stream=$!
    read_events <&"$lines" >"/proc/self/fd/$inbox" {inbox}<&- &
    readers[0]=$!
    exec {lines}<&-
}

# The end of the stream is not the end of a call: ringwaked is restarted, and is listened to again.
listen_again() {
    listens=
    wait "$stream"
    if (($? == 22)); then
        # A handler of before it does not know any more. One that stays comes as a new one, and claims its calls.
        [[ $stays && $secret ]] || leave 1
        secret=
    fi
    later ' ' 200 listen
}

# ---- baresip

# tell TOKEN COMMAND [PARAMETERS]: what comes of it comes back with the token.
tell() {
    [[ $sip ]] || return
    local object parameters=${3-} token=$1
    parameters=${parameters//\\/\\\\} token=${token//\\/\\\\}
    object="{\"command\":\"$2\",\"params\":\"${parameters//\"/\\\"}\",\"token\":\"${token//\"/\\\"}\"}"
    printf '%s:%s,' "${#object}" "$object" >&"$sip"
}

# tell_of CALL TOKEN COMMAND [PARAMETERS]: commands are about the call that was chosen last.
tell_of() { tell - callfind "${invite[$1]}" && tell "${@:2}"; }

# Where the client listens to commands; the account, and its address without a password.
read_configuration() {
    local name rest
    while read -r name rest; do
        [[ $name != ctrl_tcp_listen ]] || place=${rest%%[[:space:]]*}
    done <"$folder/config"
    while IFS= read -r account && [[ $account != *sip*@* || $account == \#* ]]; do :; done <"$folder/accounts"
    [[ $account =~ (sips?:[^:@\>\;]+)(:[^@]*)?(@[^\>\;]+) ]] || { note "no account in $folder/accounts" && exit 1; }
    address=${BASH_REMATCH[1]}${BASH_REMATCH[3]}
}

connect() { { exec {sip}<>"/dev/tcp/${place%:*}/${place##*:}"; } 2>/dev/null || { sip= && return 1; }; }

# A client that runs without a handler is gone on with; else one is started, which registers when it is told to: an INVITE
# may come a millisecond after that, and who is not connected by then does not hear of it.
start_client() {
    if connect; then
        accounts=1 client=$(<"$folder/pid")
    else
        accounts=0
        baresip -f "$folder" </dev/null >"$folder/log" 2>&1 {inbox}<&- {never}<&- &
        client=$! && echo "$client" >"$folder/pid"
    fi
}

# Listens to the client, which listens itself some milliseconds after its start.
attend_client() {
    local tries
    for ((tries = 0; tries < 2000; tries++)); do
        if [[ $sip ]] || connect; then
            read_client <&"$sip" >"/proc/self/fd/$inbox" {inbox}<&- &
            readers[1]=$!
            return
        fi
        read -r -t 0.001 -u "$never"
    done
    note "the client does not listen on $place; $folder/log says why" && leave 1
}

register() { tell - uanew "$account" && accounts=$((accounts + 1)); }

unregister() {
    for (( ; accounts > 0; accounts--)); do
        tell - uadel "$address"
    done
}

leave() {
    trap '' TERM
    if [[ $sip && ${readers[1]-} ]]; then
        # It says goodbye to its server. A server that does not answer is not waited for.
        tell - quit
        (read -r -t "$goodbye" -u "$never" || kill -KILL "$client") 2>/dev/null &
        readers[2]=$!
        wait "${readers[1]}"
    elif [[ $client ]]; then
        kill -KILL "$client" 2>/dev/null
    fi
    kill "${readers[@]}" "$stream" 2>/dev/null
    exit "$1"
}
