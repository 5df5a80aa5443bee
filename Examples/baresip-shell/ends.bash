# Sourced by `handler`: the connections to ringwaked and to the SIP client.

# ---- Two readers and one inbox, a pipe. A reader turns each message into a line of fields with $us between them. It
# writes each line at once and shorter than PIPE_BUF, so that lines do not mix. The readers have only the writing end:
# when this process is killed, they notice.
us=$'\x1f'
exec {inbox}<> <(:) {never}<> <(:)

# set_alarm MICROSECONDS: a line `tick` comes after that time, in the place of an earlier alarm's.
set_alarm() {
    local seconds
    [[ ! $alarm ]] || kill "$alarm" 2>/dev/null
    printf -v seconds '%d.%06d' $(($1 / 1000000)) $(($1 % 1000000))
    (read -r -t "$seconds" -u "$never" || printf 'tick\n') >"/proc/self/fd/$inbox" {inbox}<&- 2>/dev/null &
    alarm=$! alarm_at=$due_at
    # The shell would report the end of an alarm that is replaced.
    disown "$alarm"
}

# member NAME LINE: puts a JSON member's text into $value, with its escapes. The first member of that name is the right
# one, because the payload comes last; a text cannot look like a name, because its quotes have backslashes.
member() {
    local pattern="\"$1\":\"(([^\"\\]|\\\\.)*)\""
    if [[ $2 =~ $pattern ]]; then value=${BASH_REMATCH[1]}; else value= && return 1; fi
}

# plain TEXT: removes the escapes that a Call-ID can have.
plain() { value=${1//\\\//\/} value=${value//\\\"/\"} value=${value//\\\\/\\}; }

# Reads ringwaked's stream: one JSON object per line.
read_events() {
    local line fields name lost n status=
    while IFS= read -r line; do
        if [[ $line == 'status '* ]]; then status=${line#status }; fi
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
    printf '%s\n' "away$us$status"
}

# Reads the client's messages: netstrings, LENGTH:OBJECT and a comma.
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
        printf '%s\n' "$fields" 2>/dev/null || { abandoned; return; }
    done
    printf 'left\n' 2>/dev/null
}

# Ends the client at descriptor 3. What it sends must be read: a connection that is closed with unread data is reset, and
# the client never gets the command.
quit_client='printf "18:{\"command\":\"quit\"}," >&3 && timeout -s KILL 5 cat <&3 >/dev/null'

# The handler was killed. The next handler continues with the client, which closes this connection. If there is no next
# handler, end the client.
abandoned() { read -r -t 6 -u "$never" || eval "$quit_client" 3>&"$sip"; }

# ---- ringwaked

# curl gets the secret through a descriptor, because every user of the machine can read arguments.
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

# Opens the stream of the app. After a lost stream, it also asks for the calls that have ended meanwhile.
listen() {
    local since=$((highest + 1)) n target="events?app=$app&"
    for n in "${number[@]}"; do
        ((n == 0 || n > since)) || since=$n
    done
    [[ -z $stays ]] || target="apps/$app/handler?"
    ((highest == 0)) || target+="since=$since"
    # curl ends with this process, even if this process is killed.
    exec {lines}< <(exec setpriv --pdeathsig TERM curl --silent --fail --no-buffer --unix-socket "$control" \
        --write-out 'status %{http_code}\n' --config <(authorization) "http://ringwake/v1/${target%[&?]}")
    stream=$!
    read_events <&"$lines" >"/proc/self/fd/$inbox" {inbox}<&- &
    readers[0]=$!
    exec {lines}<&-
}

# listen_again STATUS: the end of the stream is not the end of a call. ringwaked restarts, or has too many streams (429),
# and the handler opens the stream again.
listen_again() {
    listens=
    if [[ $1 == 4?? && $1 != 408 && $1 != 429 ]]; then
        # ringwaked no longer knows this handler. With --stay, connect as a new handler and claim the calls.
        [[ $stays && $secret ]] || leave 1
        secret=
    fi
    later ' ' 200 listen
}

# ---- baresip

# tell TOKEN COMMAND [PARAMETERS]: sends a command to the client; its response has the token.
tell() {
    [[ $sip ]] || return
    local object parameters=${3-} token=$1
    parameters=${parameters//\\/\\\\} token=${token//\\/\\\\}
    object="{\"command\":\"$2\",\"params\":\"${parameters//\"/\\\"}\",\"token\":\"${token//\"/\\\"}\"}"
    printf '%s:%s,' "${#object}" "$object" >&"$sip"
}

# tell_of CALL TOKEN COMMAND [PARAMETERS]: selects the call first, because a command applies to the last selected call.
tell_of() { tell - callfind "${invite[$1]}" && tell "${@:2}"; }

# Reads the client's command address; the account, and its address without a password.
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

# Continues with a client that runs without a handler, or starts one. The client registers only on command: an INVITE may
# arrive a millisecond later, and a handler that is not connected by then misses it.
start_client() {
    if connect; then
        accounts=1 client=$(<"$folder/pid")
    else
        accounts=0
        # The client outlives this handler, so it gets a session of its own and no secret: ringwaked kills the rest.
        env -u RINGWAKE_WAKE_SECRET setsid baresip -f "$folder" \
            </dev/null >"$folder/log" 2>&1 {inbox}<&- {never}<&- &
        client=$! && echo "$client" >"$folder/pid"
    fi
}

# Connects to the client, which listens some milliseconds after its start.
attend_client() {
    local tries
    for ((tries = 0; tries < 2000; tries++)); do
        if [[ $sip ]] || connect; then
            read_client <&"$sip" >"/proc/self/fd/$inbox" {inbox}<&- &
            readers[1]=$!
            guard_client
            return
        fi
        read -r -t 0.001 -u "$never"
    done
    note "the client does not listen on $place; $folder/log says why" && leave 1
}

# When ringwaked has started this handler and it is killed, ringwaked kills its readers too. Then this process ends the
# client, if there is no next handler, which takes the connection away.
guard_client() {
    dismiss_guard
    exec {guard}> >(exec env -u RINGWAKE_WAKE_SECRET setsid bash -c "read -r || { sleep 6 && $quit_client; }" \
        3>&"$sip" {inbox}<&- {never}<&- >/dev/null 2>&1)
}

dismiss_guard() { [[ ! $guard ]] || { { echo >&"$guard"; } 2>/dev/null; exec {guard}>&- && guard=; }; }

register() { tell - uanew "$account" && accounts=$((accounts + 1)); }

unregister() {
    for (( ; accounts > 0; accounts--)); do
        tell - uadel "$address"
    done
}

leave() {
    # ringwaked stops the whole group: the guard that has just been started, and the readers.
    trap '' TERM PIPE
    dismiss_guard
    if [[ $sip && ${readers[1]-} ]]; then
        # The client unregisters. Do not wait for a server that does not answer.
        tell - quit
        (read -r -t "$goodbye" -u "$never" || kill -KILL "$client") 2>/dev/null &
        readers[2]=$!
        wait "${readers[1]}"
        # What the client sends must be read until it has closed, see above.
        cat <&"$sip" >/dev/null
    elif [[ $client ]]; then
        kill -KILL "$client" 2>/dev/null
    fi
    kill "${readers[@]}" "$stream" $alarm 2>/dev/null
    exit "$1"
}
