import { jsonEvent } from '@eventstore/db-client'
import { createEventStoreDbClient } from '../services/log/eventstoredb/eventstoredb-client.ts'

/**
 * `npm run store:rights -- USER …`: gives users of EventStoreDB what the service needs and nothing more, and takes it from
 * everybody else but administrators: reading the whole log, and reading, writing and deleting streams that are not the
 * server's own. Users that had these rights and are not named lose them. EVENTSTORE_URL is an administrator's.
 */
const { EVENTSTORE_URL } = process.env
const users = process.argv.slice(2)
if (EVENTSTORE_URL === undefined || users.length === 0) {
  process.stderr.write('usage: EVENTSTORE_URL=<of an administrator> npm run store:rights -- USER …\n')
  process.exit(2)
}
const { client } = createEventStoreDbClient(EVENTSTORE_URL)
const ADMINS = '$admins'
const admins = { $r: ADMINS, $w: ADMINS, $d: ADMINS, $mr: ADMINS, $mw: ADMINS }
const readers = [ADMINS, ...users]
const data = {
  $userStreamAcl: { $r: readers, $w: users, $d: users, $mr: readers, $mw: ADMINS },
  $systemStreamAcl: admins,
}
await client.setStreamMetadata('$all', { acl: { readRoles: readers } })
await client.appendToStream('$settings', [jsonEvent({ type: 'update-default-acl', data })])
process.stdout.write(`${users.join(', ')}: may read the log, and write streams of the service\n`)
await client.dispose()
