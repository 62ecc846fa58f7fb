/** Does one piece of work at a time, in the order in which they were given. */
export type InTurn = <Value>(work: () => Promise<Value>) => Promise<Value>

export function createTurns(): InTurn {
  let last: Promise<unknown> = Promise.resolve()
  return (work) => {
    const turn = last.then(work)
    // What one fails with is for whoever gave it, and does not stand in the way of the next.
    last = turn.catch(() => undefined)
    return turn
  }
}
