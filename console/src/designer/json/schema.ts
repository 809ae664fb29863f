// Looks up places in a JSON Schema, with the keywords that the schema of definitions uses.

export interface Schema {
  readonly $ref?: string
  readonly $defs?: Readonly<Record<string, Schema>>
  readonly type?: string | readonly string[]
  readonly description?: string
  readonly properties?: Readonly<Record<string, Schema>>
  readonly required?: readonly string[]
  readonly items?: Schema
  readonly anyOf?: readonly Schema[]
  readonly allOf?: readonly Schema[]
  readonly if?: Schema
  readonly then?: Schema
  readonly const?: unknown
  readonly enum?: readonly unknown[]
  readonly examples?: readonly unknown[]
}

/** A step into an object, with the value of its member `type`, which decides its other members; or into a list. */
export type SchemaStep = { readonly member: string; readonly type: string | undefined } | 'item'

export function schemasAt(root: Schema, steps: readonly SchemaStep[]): readonly Schema[] {
  let schemas: readonly Schema[] = [root]
  for (const step of steps)
    schemas = schemas.flatMap((schema) =>
      expand(root, schema, step === 'item' ? undefined : step.type).flatMap((one) => {
        const next = step === 'item' ? one.items : one.properties?.[step.member]
        return next ? [next] : []
      }),
    )
  return schemas
}

/** The members that an object at a place may have, each with its schema. */
export function membersAt(root: Schema, steps: readonly SchemaStep[], type: string | undefined): Map<string, Schema> {
  const members = new Map<string, Schema>()
  for (const schema of schemasAt(root, steps).flatMap((one) => expand(root, one, type)))
    for (const [name, member] of Object.entries(schema.properties ?? {})) {
      const known = members.get(name)
      // The schema of a type of node is more specific than that of all nodes.
      members.set(name, known?.description && !member.description ? known : { ...known, ...member })
    }
  return members
}

export function valuesAt(root: Schema, steps: readonly SchemaStep[]): readonly unknown[] {
  return schemasAt(root, steps)
    .flatMap((schema) => expand(root, schema, undefined))
    .flatMap((schema) => [...(schema.enum ?? []), ...(schema.examples ?? [])])
    .filter((value) => value !== null)
}

export function descriptionAt(root: Schema, steps: readonly SchemaStep[]): string | undefined {
  return schemasAt(root, steps)
    .flatMap((schema) => expand(root, schema, undefined))
    .findLast(({ description }) => description !== undefined)?.description
}

/** A schema, the schemas that it refers to, and the schemas for the type of the object. */
function expand(root: Schema, schema: Schema, type: string | undefined): Schema[] {
  const name = schema.$ref?.replace('#/$defs/', '')
  const target = name === undefined ? undefined : root.$defs?.[name]
  const fits = schema.if?.properties?.type?.const === type && type !== undefined
  return [
    ...(target ? expand(root, target, type) : []),
    schema,
    ...[...(schema.anyOf ?? []), ...(schema.allOf ?? [])].flatMap((one) => expand(root, one, type)),
    ...(fits && schema.then ? expand(root, schema.then, type) : []),
  ]
}
