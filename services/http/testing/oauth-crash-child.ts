import { aWorld } from '../../accounts/testing/accounts.fixture.ts'
import { openEmbeddedStore } from '../../log/embedded/embedded-store.ts'
import type { EventStore } from '../../log/event-store.ts'
import { startOAuthService } from './oauth-service.fixture.ts'

/**
 * A process with sign-in for programs over a log on disk, which kills itself at one append of a kind: before it, or behind it
 * and before anybody is answered. It says when it listens, and every mail.
 *
 * oauth-crash-child.ts {data folder} {port} {event type} {which, from 1; 0 for none} {before or behind}
 */
const [directory = '', port = '0', type = '', which = '0', place = 'before'] = process.argv.slice(2)

const opened = await openEmbeddedStore({ directory, now: Date.now })
let left = Number(which)
const store: EventStore = {
  ...opened,
  async append(stream, events, options) {
    const isHere = events.some((event) => event.type === type) && left > 0 && --left === 0
    if (isHere && place === 'before') process.kill(process.pid, 'SIGKILL')
    const appended = await opened.append(stream, events, options)
    if (isHere) process.kill(process.pid, 'SIGKILL')
    return appended
  },
}
const world = aWorld()
world.now = Date.now()
world.mails.push = (...mails) => {
  for (const { to, text } of mails) process.stdout.write(`mail ${JSON.stringify({ to, text })}\n`)
  return mails.length
}
const { url } = await startOAuthService(world, undefined, { store, port: Number(port) })
process.stdout.write(`listening ${url}\n`)
