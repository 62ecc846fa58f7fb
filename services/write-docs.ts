import { writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { loadModel } from './engine/index.ts'
import { referencePages } from './knowledge/index.ts'

// npm run docs
for (const [name, text] of Object.entries(referencePages({ model: loadModel() }))) {
  writeFileSync(join(import.meta.dirname, '../docs', name), text)
}
