import { execFile } from 'node:child_process'
import { fileURLToPath } from 'node:url'
import { promisify } from 'node:util'
import { expect, test } from 'vitest'

const STUDY = fileURLToPath(new URL('./study-funding.ts', import.meta.url))
const run = promisify(execFile)

test.each([
  [[], 'Name one folder.'],
  [[import.meta.dirname, import.meta.dirname], 'Name one folder.'],
  [['nowhere'], 'nowhere is not a folder.'],
  [[import.meta.dirname, '--exchange', 'NYSE'], 'NYSE is not an exchange code.'],
  [[import.meta.dirname, '--from', '2024-13-01'], '--from 2024-13-01 is not a date'],
  [[import.meta.dirname, '--surprise'], "Unknown option '--surprise'"],
])('arguments %j end with exit code 2 and the usage', async (args, message) => {
  const failure: unknown = await run(process.execPath, [STUDY, ...args]).catch((error: unknown) => error)
  expect(failure).toMatchObject({ code: 2, stdout: '', stderr: expect.stringContaining(message) })
  expect(failure).toMatchObject({ stderr: expect.stringContaining('npm run -s study:funding') })
})

test('a folder without two histories ends with exit code 3', async () => {
  const failure: unknown = await run(process.execPath, [STUDY, import.meta.dirname]).catch(
    (error: unknown) => error,
  )
  expect(failure).toMatchObject({
    code: 3,
    stdout: '',
    stderr: expect.stringContaining('error market_data_missing:'),
  })
})
