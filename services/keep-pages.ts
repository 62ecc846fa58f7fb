// oxlint-disable-next-line import/no-unassigned-import -- it sets how V8 compiles
import './own-node.js'
import { keepPages, openReplayLog } from './analyst/index.ts'

// Ctrl-C comes to all processes at the terminal; the service ends this one when it ends.
process.on('SIGINT', () => undefined)
// A service that is killed cannot end it, but its end of this pipe closes. Another log may take that place next.
process.stdin.once('end', () => process.exit()).unref()
process.stdin.resume()
const [file = ''] = process.argv.slice(2)
const { log, pagesOf, close } = openReplayLog(file)
await keepPages(log, pagesOf)
close()
