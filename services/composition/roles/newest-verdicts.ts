import type { Verdict } from '../../../contracts/verdict.ts'
import { latestVerdicts } from '../../../projections/index.ts'
import type { Projector } from '../../log/projector/projector.ts'

/** Rows read at a time. */
const PAGE_ROWS = 500

/** The newest verdict of every series in the log, by the name of the series. */
export function* newestVerdicts(projector: Projector): Generator<Verdict, void, undefined> {
  const reader = projector.reader(latestVerdicts)
  for (let after = ''; ; ) {
    const page = reader.range({ after, limit: PAGE_ROWS })
    for (const { row } of page) yield row.verdict
    const last = page.at(-1)
    if (last === undefined || page.length < PAGE_ROWS) return
    after = last.key
  }
}
