import { readFileSync } from 'node:fs'

/**
 * Loaded in front of a process of a cluster (`node --import`): its wall clock, in each of its threads, is ahead of the
 * machine's by as many milliseconds as a file says, from a moment after the file says so. Timers and the clock that is
 * never set go on as they are, as where somebody sets the clock of a machine.
 */
const file = process.env['CLOCK_FILE']
const LOOK_MS = 100
const RealDate = Date
let aheadMs = 0

const isNone = (error: unknown): boolean => (error as NodeJS.ErrnoException).code === 'ENOENT'

function look(path: string): void {
  try {
    const said = Number(readFileSync(path, 'utf8'))
    if (Number.isFinite(said)) aheadMs = said
  } catch (error) {
    if (!isNone(error)) throw error
  }
}

class SetDate extends RealDate {
  constructor(...given: readonly unknown[]) {
    if (given.length === 0) super(SetDate.now())
    else super(...(given as [number]))
  }
  static override now(): number {
    return RealDate.now() + aheadMs
  }
}

if (file !== undefined) {
  look(file)
  setInterval(look, LOOK_MS, file).unref()
  globalThis.Date = SetDate as DateConstructor
}
