import { setFlagsFromString } from 'node:v8'
import { runInNewContext } from 'node:vm'

/** The collector of V8, without a flag at the start of the process. */
export function exposedGc(): (how?: object) => void {
  setFlagsFromString('--expose-gc')
  const collect = runInNewContext('gc') as (how?: object) => void
  setFlagsFromString('--no-expose-gc')
  return collect
}
