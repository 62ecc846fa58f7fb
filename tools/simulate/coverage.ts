import { globSync, readFileSync } from 'node:fs'
import type { Profiler } from 'node:inspector'
import { Session } from 'node:inspector/promises'
import { join, resolve } from 'node:path'
import { pathToFileURL } from 'node:url'

const ROOT = resolve(import.meta.dirname, '../..')
const PRODUCT = ['services/**/*.ts', 'projections/**/*.ts', 'contracts/**/*.ts']
const IS_OF_TESTS = /\.(?:test|fixture|contract)\.ts$|\/(?:testing|test-servers|wire-double)\//
/** Lines that say nothing at run time: comments, imports, types, ends of blocks. */
const IS_SILENT =
  /^(?:$|\/\/|\/?\*|import |export (?:type|interface) |(?:type|interface) |readonly |[\])}]+[,;)]*$)/

interface Count {
  readonly executed: number
  readonly lines: number
}

/** Counts which lines of the product some work executes in this thread, by room. */
export async function coverageOf<Result>(
  work: () => Promise<Result>,
): Promise<{ readonly result: Result; readonly table: string }> {
  const session = new Session()
  session.connect()
  await session.post('Profiler.enable')
  await session.post('Profiler.startPreciseCoverage', { callCount: true, detailed: true })
  const result = await work()
  const { result: scripts } = await session.post('Profiler.takePreciseCoverage')
  session.disconnect()
  const byUrl = new Map(scripts.map((script) => [script.url, script]))
  const rooms = new Map<string, Count>()
  for (const file of globSync(PRODUCT, { cwd: ROOT }).toSorted()) {
    if (IS_OF_TESTS.test(file)) continue
    const { executed, lines } = linesOf(
      readFileSync(join(ROOT, file), 'utf8'),
      byUrl.get(pathToFileURL(join(ROOT, file)).href),
    )
    const before = rooms.get(roomOf(file)) ?? { executed: 0, lines: 0 }
    rooms.set(roomOf(file), { executed: before.executed + executed, lines: before.lines + lines })
  }
  const rows = [...rooms].map(
    ([room, { executed, lines }]) =>
      `${room.padEnd(36)} ${String(executed).padStart(6)} of ${String(lines).padStart(6)} lines ${String(Math.floor((100 * executed) / Math.max(1, lines))).padStart(3)} %`,
  )
  return { result, table: rows.join('\n') }
}

/** `services/webhooks/dispatch`, `contracts`: a folder, at most three deep. */
const roomOf = (file: string): string => file.split('/').slice(0, -1).slice(0, 3).join('/')

/** The innermost range around a place counts; types were blanked out, so that places are those of the source. */
function linesOf(text: string, script: Profiler.ScriptCoverage | undefined): Count {
  // What a module does when it is loaded was done before the counting began.
  const hit = new Uint8Array(text.length).fill(script === undefined ? 0 : 1)
  const ranges = script?.functions.flatMap((one) => one.ranges) ?? []
  const outerFirst = ranges.toSorted((a, b) => a.startOffset - b.startOffset || b.endOffset - a.endOffset)
  for (const { startOffset, endOffset, count } of outerFirst)
    if (startOffset > 0 || endOffset < text.length) hit.fill(count > 0 ? 1 : 0, startOffset, endOffset)
  let [executed, lines, at] = [0, 0, 0]
  for (const line of text.split('\n')) {
    const code = line.trimStart()
    if (!IS_SILENT.test(code)) {
      lines += 1
      executed += hit[at + line.length - code.length] ?? 0
    }
    at += line.length + 1
  }
  return { executed, lines }
}
