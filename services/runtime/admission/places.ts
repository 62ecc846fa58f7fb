import { assert } from '../../../contracts/errors/assert.ts'
import { ServiceError } from '../../../contracts/errors/errors.ts'
import { LIMITS } from '../../../contracts/limits.ts'

/** Room for what goes on at the same time: so much in all, and so much for each who takes it. */
export interface Places<By extends string> {
  /**
   * @param by for whom, in each way that is counted; undefined where this one is not counted
   * @param give what to do where the place is given to somebody else, which happens while it `waits` only
   */
  take(by: Readonly<Record<By, string | undefined>>, lose?: () => void): Taken<By>
}

export type Taken<By extends string> =
  | {
      /** Gives the place back; may be called more than once. */
      readonly give: () => void
      /** Says that who holds it does nothing until somebody else, a reader say, does something; or goes on. */
      readonly waits: (isWaiting: boolean) => void
    }
  | {
      readonly give: undefined
      /** Which count is full, and at how many. */
      readonly full: By | 'all'
      readonly held: number
    }

export interface PlacesOptions<By extends string> {
  readonly total: number
  readonly each: Readonly<Record<By, number>>
  /** One place in so many is kept for who holds none in any way; none is where it is left out. */
  readonly keptShare?: number
  /** A place that has waited for so long goes to who finds none; it never does where this is left out. */
  readonly lost?: { readonly afterMs: number; readonly elapsed: () => number }
}

interface Holder {
  waitsSince: number | undefined
  readonly lose: () => void
}

export function createPlaces<By extends string>(options: PlacesOptions<By>): Places<By> {
  const { total, each, keptShare, lost } = options
  const ways = Object.keys(each) as By[]
  const counts = new Map<string, number>()
  const holders = new Set<Holder>()
  const forAll = keptShare === undefined ? total : total - Math.floor(total / keptShare)

  /** Takes the place of who has waited longest, and long enough. */
  function displace(): boolean {
    if (lost === undefined) return false
    let longest: Holder | undefined
    for (const holder of holders) {
      if (
        (holder.waitsSince ?? Number.POSITIVE_INFINITY) < (longest?.waitsSince ?? Number.POSITIVE_INFINITY)
      ) {
        longest = holder
      }
    }
    if (longest?.waitsSince === undefined || lost.elapsed() - longest.waitsSince < lost.afterMs) return false
    longest.lose()
    return true
  }

  return {
    take(by, lose = () => undefined) {
      const names = ways.flatMap((way) =>
        by[way] === undefined ? [] : [[way, `${way} ${by[way]}`] as const],
      )
      for (const [way, name] of names) {
        const held = counts.get(name) ?? 0
        if (held >= each[way]) return { give: undefined, full: way, held }
      }
      const isNew = names.every(([, name]) => !counts.has(name))
      if (holders.size >= (isNew ? total : forAll) && !(isNew && displace())) {
        return { give: undefined, full: 'all', held: holders.size }
      }
      const add = (change: 1 | -1): void => {
        for (const [, name] of names) {
          const count = (counts.get(name) ?? 0) + change
          assert(count >= 0, 'a place is given back once', count)
          if (count === 0) counts.delete(name)
          else counts.set(name, count)
        }
      }
      const give = (): void => {
        if (holders.delete(holder)) add(-1)
      }
      const holder: Holder = {
        waitsSince: undefined,
        lose() {
          give()
          lose()
        },
      }
      holders.add(holder)
      assert(holders.size <= total, 'no more places are held than there are', holders.size)
      add(1)
      return {
        give,
        waits(isWaiting) {
          holder.waitsSince = isWaiting ? lost?.elapsed() : undefined
        },
      }
    },
  }
}

/** Room for long answers in this process. */
export interface StreamPlaces<By extends string> {
  /**
   * Takes a place until the answer is given. @throws ServiceError `rate_limited` when who asks has all it may have,
   * `overloaded` when all are taken
   */
  take(by: Readonly<Record<By, string | undefined>>, lose?: () => void): StreamPlace
}

export type StreamPlace = Extract<Taken<string>, { give: () => void }>

/**
 * The last places are for callers that hold none, so that a few that hold all they may do not keep everybody else out.
 * @param what in the plural, for refusals: `live streams`
 */
export function createStreamPlaces<By extends string>(
  what: string,
  options: Omit<PlacesOptions<By>, 'keptShare'>,
): StreamPlaces<By> {
  const { total, each } = options
  const places = createPlaces({ ...options, keptShare: LIMITS.placesKeptShare })
  return {
    take(by, lose) {
      const taken = places.take(by, lose)
      if (taken.give !== undefined) return taken
      const { full, held } = taken
      if (full === 'all') {
        throw new ServiceError('overloaded', {
          message:
            held >= total
              ? `${held} ${what} are open, which is as many as this process serves`
              : `${held} ${what} are open; the places that are left are for callers that hold none`,
        })
      }
      throw new ServiceError('rate_limited', {
        message: `${held} ${what} of this ${full} are open, which is as many as it may have at a time`,
        details: { limit: each[full], per: full },
      })
    },
  }
}
