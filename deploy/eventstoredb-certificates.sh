#!/bin/sh
# Makes an authority and a certificate of a node of EventStoreDB: deploy/eventstoredb-certificates.sh FOLDER NAME-OR-ADDRESS …
# Name every name and address that stands in EVENTSTORE_URL. Run again for another node: the authority of the folder is kept.
set -eu
folder=$1
shift
mkdir -p "$folder/authority"
names=''
for name in "$@"; do
  case $name in
    *[!0-9.]*) names="$names,DNS:$name" ;;
    *) names="$names,IP:$name" ;;
  esac
done
cd "$folder"
[ -f ca.key ] || openssl req -x509 -newkey rsa:2048 -nodes -days 3650 -keyout ca.key -out authority/ca.crt \
  -subj '/CN=EventStoreDB authority' -addext 'basicConstraints=critical,CA:TRUE' -addext 'keyUsage=critical,keyCertSign,cRLSign'
openssl req -newkey rsa:2048 -nodes -keyout node.key -out node.csr -subj '/CN=eventstoredb-node'
printf 'subjectAltName=%s\nextendedKeyUsage=serverAuth,clientAuth\nkeyUsage=digitalSignature,keyEncipherment\n' "${names#,}" > node.ext
openssl x509 -req -in node.csr -CA authority/ca.crt -CAkey ca.key -CAcreateserial -days 365 -out node.crt -extfile node.ext
rm node.csr node.ext
chmod go= ca.key node.key
