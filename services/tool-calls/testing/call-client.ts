/**
 * A client process that tests start: sends all its calls at once and prints what came of them. Imported by
 * nobody; its one argument is a list of calls as JSON.
 */

import { createCaller, type SentCall } from './send-calls.ts'

const calls = JSON.parse(process.argv[2] ?? '') as SentCall[]
const caller = createCaller(calls.length)
const outcomes = await Promise.all(calls.map((call) => caller.send(call)))
caller.close()
process.stdout.write(JSON.stringify(outcomes))
