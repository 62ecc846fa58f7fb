import { answerHelp } from '../testing/answer-help.ts'
import { LAYERS, readGraph, roomGraph } from '../testing/whole/rooms.fixture.ts'

answerHelp(`Prints the rooms from the top down, each with the rooms it imports and how often.

  npm run graph`)
const rooms = roomGraph(readGraph())
for (const layer of LAYERS.toReversed()) {
  for (const room of layer) {
    const imports = [...(rooms.get(room) ?? [])].toSorted(([, a], [, b]) => b - a)
    const text = imports.map(([name, count]) => `${name.replace('services/', '')} ${count}`).join(', ')
    process.stdout.write(`${room.padEnd(22)} → ${text || 'nothing'}\n`)
  }
  process.stdout.write('\n')
}
