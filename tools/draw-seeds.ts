import module from 'node:module'
import fc from 'fast-check'

module.enableCompileCache()

/**
 * Runs before each file of tests. Properties of a file draw from a seed of its own, so that what they try depends on no
 * other file that the same process ran before. A failure prints the seed; FAST_CHECK_SEED tries it again.
 */
const given = process.env.FAST_CHECK_SEED
const seed = given === undefined ? Math.floor(Math.random() * 2 ** 31) : Number(given)
fc.resetConfigureGlobal()
fc.configureGlobal({ seed })
