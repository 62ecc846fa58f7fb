import { verdictStream } from '../../../contracts/streams.ts'
import { HOUR_MS } from '../../../contracts/timeframes.ts'
import { aVerdict } from '../../../contracts/verdict.fixture.ts'
import type { EventStore } from '../../platform/event-store/event-store.ts'
import { describeWritePath } from '../../platform/event-store/write-path.contract.ts'
import { createFactIds } from '../../platform/ids/fact-id.ts'
import { createRecorder } from './recorder.ts'

const series = { exchange: 'SIM', coin: 'BTC', timeframe: '1h' } as const
const T0 = Date.UTC(2025, 0, 1)

const draftAt = (hour: number) => {
  const { verdictId: _none, ...draft } = aVerdict({ ...series, barClose: T0 + hour * HOUR_MS })
  return draft
}

describeWritePath(
  'the recorder of verdicts',
  { isBounded: false, onConflict: 'decides anew' },
  async (world) => {
    const recorderOver = (store: EventStore) =>
      createRecorder({
        ...world,
        store,
        signal: world.ending.signal,
        idOf: createFactIds(Buffer.from('secret')),
      })
    const recorder = recorderOver(world.store)
    return {
      write: () => recorder.record(series, [draftAt(2)]),
      async recorded() {
        let count = 0
        for await (const { data } of world.others.read(verdictStream(series)))
          if (data['barClose'] === T0 + 2 * HOUR_MS) count += 1
        return count
      },
      interfere: () => recorderOver(world.others).record(series, [draftAt(1)]),
    }
  },
)
