import { HOUR_MS } from '../../../contracts/domain/timeframes.ts'
import { verdictStream } from '../../../contracts/events/streams.ts'
import type { EventStore } from '../../log/event-store.ts'
import { describeWritePath } from '../../log/write-path.contract.ts'
import { aDraft, recordingOver } from '../testing/recording.fixture.ts'
import { createRecorder } from './recorder.ts'

const series = { exchange: 'SIM', coin: 'BTC', timeframe: '1h' } as const
const T0 = Date.UTC(2025, 0, 1)

const draftAt = (hour: number) => aDraft({ ...series, barClose: T0 + hour * HOUR_MS })

describeWritePath(
  'the recorder of verdicts',
  { isBounded: false, onConflict: 'decides anew' },
  async (world) => {
    const recorderOver = (store: EventStore) =>
      createRecorder({ ...recordingOver(store), sleep: world.sleep, signal: world.ending.signal })
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
