import type { RecordedEvent } from '../../contracts/event.ts'
import { decodeEvent, VerdictRecorded } from '../../contracts/event-catalogue.ts'
import { toLatin1 } from '../../contracts/latin1.ts'
import { barsMissed, shiftedFrom, type Verdict } from '../../contracts/verdict.ts'
import { verdictRow, visibleAt } from '../../contracts/verdict-row.ts'
import { NULL, type RowTexts, textsOf } from './formats/row-texts.ts'

type Asked = Pick<Verdict, 'exchange' | 'coin' | 'timeframe' | 'barClose' | 'validUntil' | 'call'>

/** A recorded verdict: the part that filters ask for, and its row. */
export interface ShownVerdict extends Pick<RecordedEvent, 'position' | 'revision' | 'at'> {
  readonly data: Asked
  readonly texts: (cursor: string, decidedAt: number | null) => RowTexts
}

/** Data of these schemas has one shape: `recordedLate` goes by another rule from schema 4 on, and 5 may have a field more. */
const SCHEMAS: readonly number[] = [3, 4, VerdictRecorded.schema]
const [NAME, TIME, NUMBER] = ['"([^"\\\\]*)"', '(\\d+)', '([-+.e\\d]+)']
const RANGE = ['p10', 'p25', 'p50', 'p75', 'p90'].map((name) => `"${name}":[-+.e\\d]+`).join(',')
const SHAPE = new RegExp(
  `^\\{${[
    `"exchange":${NAME},"coin":${NAME},"timeframe":${NAME},"verdictId":${NAME},"barClose":${TIME}`,
    `"validUntil":${TIME},"call":${NAME},"confidence":${NUMBER},"strength":${NUMBER},"probability":${NUMBER}(?:,"closesHigher":${NUMBER})?`,
    `"regime":${NAME},"regimeSince":${TIME},"regimeStrength":${NUMBER},"volatilityPercentile":${NUMBER}`,
    `"price":${NUMBER},"barrier":${NUMBER}`,
    `"forecast":(?:null|\\{"model":"[^"\\\\]*","volatility":${NUMBER},(${RANGE})\\})`,
    `"factors":(\\[[^\\]]*\\]),"reasoning":${NAME},"modelVersion":${NAME},"anchorBar":${TIME}`,
    `"inputsHash":${NAME},"previous":(?:null|\\{"barClose":${TIME},"regime":${NAME}\\}),"recordedLate":(true|false)`,
  ].join(',')}\\}$`,
)

/** The verdict of an event, if it is one. Its fields are cut out of the stored JSON where that has the shape of today. */
export function shownVerdict(recorded: RecordedEvent): ShownVerdict | undefined {
  if (recorded.type === 'VerdictRecorded' && SCHEMAS.includes(recorded.schema)) {
    const parts = SHAPE.exec(recorded.latin1 ?? toLatin1(recorded.text ?? ''))
    if (parts !== null) return new CutOut(recorded, parts)
  }
  const event = decodeEvent(recorded)
  if (event.type !== 'VerdictRecorded') return undefined
  const { position, revision, at, data } = event
  return {
    position,
    revision,
    at,
    data,
    texts: (...about) => textsOf(verdictRow(data, about[0], at, about[1])),
  }
}

type Parts = readonly (string | undefined)[]

class CutOut implements ShownVerdict {
  readonly position: string
  readonly revision: number
  readonly at: string
  readonly data: Asked
  readonly #parts: Parts

  constructor({ position, revision, at }: RecordedEvent, parts: Parts) {
    const [, exchange, coin, timeframe, , barClose, validUntil, call] = parts
    this.position = position
    this.revision = revision
    this.at = at
    this.#parts = parts
    // It was checked when it was appended.
    this.data = {
      exchange,
      coin,
      timeframe,
      barClose: Number(barClose),
      validUntil: Number(validUntil),
      call,
    } as Asked
  }

  // biome-ignore format: in the order of the columns
  texts(cursor: string, decidedAt: number | null): RowTexts {
    const { timeframe, barClose, validUntil } = this.data
    const [, exchange, coin, , id, , , call, confidence, strength, probability, closesHigher, regime, regimeSince, regimeStrength,
      percentile, price, barrier, volatility, range, factors, reasoning, model, anchorBar, inputsHash, before,
      regimeBefore, recordedLate] = this.#parts
    const previous = before === undefined ? null : { barClose: Number(before), regime: regimeBefore }
    const about = { timeframe, barClose, regime, previous } as Verdict
    return [
      `"${cursor}"`, `"${id}"`, `"${exchange}"`, `"${coin}"`, `"${timeframe}"`, barClose, validUntil,
      `"${this.at}"`, `"${call}"`, confidence ?? NULL, strength ?? NULL, probability ?? NULL,
      `"${regime}"`, Number(regimeSince), regimeStrength ?? NULL, percentile ?? NULL,
      price ?? NULL, barrier ?? NULL, factors ?? NULL, `"${reasoning}"`, `"${model}"`, Number(anchorBar), `"${inputsHash}"`,
      `"${shiftedFrom(about) ?? ''}"`, `${barsMissed(about)}`, recordedLate ?? NULL,
      range === undefined ? NULL : `{${range}}`, volatility ?? NULL, closesHigher ?? NULL, recordedLate === 'true' ? `"${visibleAt({ validUntil, recordedLate: true }, this.at)}"` : validUntil,
      decidedAt ?? NULL,
    ]
  }
}
