import type { Target } from '../target.ts'
import { EDGE_TARGETS } from './edge-targets.ts'
import { MONEY_TARGETS } from './money-targets.ts'
import { OPERATOR_TARGETS } from './operator-targets.ts'
import { OUTSIDE_TARGETS } from './outside-targets.ts'

/** Everything that reads what others wrote, but for whole requests, which `hostile-requests.int.test.ts` sends. */
export const TARGETS: readonly Target[] = [
  ...EDGE_TARGETS,
  ...MONEY_TARGETS,
  ...OUTSIDE_TARGETS,
  ...OPERATOR_TARGETS,
]
