import { asksOf, type Prompt, TOOLS_BY_NAME, textOf } from '../services/mcp/prompts.ts'

/** A prompt as the file of a skill, SKILL.md. */
export function skillFile(prompt: Prompt): string {
  const { name, title, description, fields, asks } = prompt
  const examples = Object.fromEntries(Object.entries(fields).map(([field, { example }]) => [field, example]))
  const tools = [...new Set(asks.map(({ tool }) => tool))]
  return `---
name: ${name}
description: ${description} Use it with the tools ${tools.join(', ')} of the MCP server signal-service.
---

# ${title}

${Object.entries(fields)
  .map(
    ([field, { description: about, default: usual }]) =>
      `- \`${field}\`: ${about}${usual === undefined ? '' : `; ${usual} without it`}`,
  )
  .join('\n')}

For example with ${Object.entries(examples)
    .map(([field, example]) => `${field} ${example}`)
    .join(' and ')}:

${textOf(prompt, asksOf(prompt, examples))}

${tools.map((tool) => `- \`${tool}\`: ${TOOLS_BY_NAME.get(tool)?.description ?? ''}`).join('\n')}
`
}
