import { createHash } from 'node:crypto'
import type { Redis } from 'ioredis'

/** A script that runs as one step on the server, over one key. */
export interface RedisScript {
  readonly source: string
  readonly sha1: string
}

const script = (source: string): RedisScript => ({
  source,
  sha1: createHash('sha1').update(source).digest('hex'),
})

/** Counts `ARGV[1]`; begins a window of `ARGV[2]` ms where none runs, so no counter is left without an end. */
export const INCREMENT = script(`
local count = redis.call('INCRBY', KEYS[1], ARGV[1])
local left = redis.call('PTTL', KEYS[1])
if left < 0 then
  redis.call('PEXPIRE', KEYS[1], ARGV[2])
  left = tonumber(ARGV[2])
end
return {count, left}`)

/** 1 when the token `ARGV[1]` holds the lock from now on for `ARGV[2]` ms, 0 when another one does. */
export const ACQUIRE_LOCK = script(`
local holder = redis.call('GET', KEYS[1])
if holder and holder ~= ARGV[1] then return 0 end
redis.call('SET', KEYS[1], ARGV[1], 'PX', ARGV[2])
return 1`)

/** 1 when the token `ARGV[1]` held the lock, which is free now, else 0. */
export const RELEASE_LOCK = script(`
if redis.call('GET', KEYS[1]) ~= ARGV[1] then return 0 end
return redis.call('DEL', KEYS[1])`)

/** Runs a script by its digest, and in full where the server does not know it, as after a restart. */
export async function runScript(
  redis: Redis,
  { source, sha1 }: RedisScript,
  key: string,
  values: readonly (string | number)[],
): Promise<unknown> {
  try {
    return await redis.evalsha(sha1, 1, key, ...values)
  } catch (error) {
    if (!(error instanceof Error && error.message.startsWith('NOSCRIPT'))) throw error
    return redis.eval(source, 1, key, ...values)
  }
}
