import { execFile } from 'node:child_process'
import { promisify } from 'node:util'
import { expect, test } from 'vitest'

const CLI = new URL('cli.ts', import.meta.url).href

/** Runs one command line in a process of its own. @returns the files that it loaded */
async function loadedFor(...args: readonly string[]): Promise<string[]> {
  const script = `
    import { registerHooks } from 'node:module'
    const loaded = []
    registerHooks({ load: (url, context, next) => { loaded.push(url); return next(url, context) } })
    const { cli } = await import('${CLI}')
    await cli(${JSON.stringify(args)}, {})
    process.stderr.write(JSON.stringify(loaded))`
  const { stdout, stderr } = await promisify(execFile)(process.execPath, [
    '--input-type=module',
    '--eval',
    script,
  ])
  expect(stdout).not.toBe('')
  return (JSON.parse(stderr) as string[]).filter((url) => !url.startsWith('node:'))
}

test.each([[['help']], [['help', 'export']], [['backup', '--help']], [['--version']]])(
  '%j loads neither a command nor a package, but for the one that compares words',
  async (args) => {
    const loaded = await loadedFor(...args)
    const packages = loaded.filter((url) => url.includes('/node_modules/'))
    expect(packages.filter((url) => !url.includes('/fastest-levenshtein/'))).toEqual([])
    expect(loaded.filter((url) => /\/cli\/(analyst|log|operator)\//.test(url))).toEqual([])
    expect(loaded.length).toBeLessThan(30)
  },
)
