import type { EntryRecord, PairRecord } from './funding-record.ts'

const percent = (share: number): string => (Number.isNaN(share) ? '–' : `${(100 * share).toFixed(0)} %`)
const signed = (value: number, digits: number): string =>
  Number.isNaN(value) ? '–' : value.toFixed(digits).replace('-', '−')
const month = (timeMs: number): string => new Date(timeMs).toISOString().slice(0, 'yyyy-mm'.length)

const HEADER = [
  'pair',
  'period',
  'days',
  'persistence',
  'rank correlation',
  'every day: expected',
  'realised',
  'recommended',
  'expected',
  'realised',
  'won',
  'newest rates',
  'expected',
  'realised',
]

/** How often a rule entered, and what it expected and got; nothing to say of one that never did. */
function entryCells({ share, expectedBps, realisedBps, realisedMarginBps }: EntryRecord): readonly string[] {
  if (share === 0) return ['never', '–', '–']
  const margin = Number.isNaN(realisedMarginBps) ? '' : ` ± ${realisedMarginBps.toFixed(1)}`
  return [`${(100 * share).toFixed(1)} %`, signed(expectedBps, 1), `${signed(realisedBps, 1)}${margin}`]
}

/** Pairs of exchanges, one row each, as a Markdown table; expected and realised are in basis points after fees. */
export function fundingTable(records: readonly PairRecord[]): string {
  const line = (cells: readonly string[]): string => `| ${cells.join(' | ')} |`
  return [
    line(HEADER),
    line(HEADER.map(() => '---')),
    ...records.map((record) =>
      line([
        record.name,
        `${month(record.fromMs)} – ${month(record.toMs)}`,
        record.days.toLocaleString('en'),
        record.persistence.toFixed(2),
        signed(record.rankCorrelation, 2),
        signed(record.always.expectedBps, 1),
        signed(record.always.realisedBps, 1),
        ...entryCells(record.recommended),
        percent(record.recommended.wonShare),
        ...entryCells(record.byNewestRates),
      ]),
    ),
  ].join('\n')
}
