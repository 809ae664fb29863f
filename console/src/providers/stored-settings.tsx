import type { Json } from '../graphql.ts'

/** Settings that the service keeps for the studio, and does not use. */
export const StoredSettings = ({ name, value }: { name: string; value: Json }) => (
  <details>
    <summary>Settings of {name}, which are only stored</summary>
    <p className="hint">
      No login uses {name}. The service keeps these settings for the studio, and leaves secrets out here. They are set
      over the API.
    </p>
    <pre>{JSON.stringify(value, null, 2)}</pre>
  </details>
)
