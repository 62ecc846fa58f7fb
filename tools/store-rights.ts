import { jsonEvent } from '@eventstore/db-client'
import { createConnection } from '../services/log/eventstoredb/connect.ts'
import { answerHelp } from '../testing/answer-help.ts'

const HELP = `Gives users of EventStoreDB the rights that the service needs, and takes them from all others but administrators.

  EVENTSTORE_URL=URL npm run store:rights -- USER …

  URL   of an administrator
  USER  a user who may read the whole log, and read, write and delete streams that are not the server's own

A user who is not named loses these rights.`
answerHelp(HELP)
const { EVENTSTORE_URL } = process.env
const users = process.argv.slice(2)
if (EVENTSTORE_URL === undefined || users.length === 0) {
  process.stderr.write(`${HELP}\n`)
  process.exit(2)
}
const connection = createConnection(EVENTSTORE_URL)
const { client } = connection.current()
const { always } = connection
const ADMINS = '$admins'
const admins = { $r: ADMINS, $w: ADMINS, $d: ADMINS, $mr: ADMINS, $mw: ADMINS }
const readers = [ADMINS, ...users]
const data = {
  $userStreamAcl: { $r: readers, $w: users, $d: users, $mr: readers, $mw: ADMINS },
  $systemStreamAcl: admins,
}
await client.setStreamMetadata('$all', { acl: { readRoles: readers } }, always)
await client.appendToStream('$settings', [jsonEvent({ type: 'update-default-acl', data })], always)
process.stdout.write(`${users.join(', ')}: may read the log, and write streams of the service\n`)
connection.close()
