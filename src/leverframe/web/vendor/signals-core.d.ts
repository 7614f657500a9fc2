// What the pages use of @preact/signals-core, as strict as they use it.

export interface Signal<T> {
  value: T;
}

export declare function signal<T>(value: T): Signal<T>;
// Calls it now, and again when a signal that it read has changed; gives a function that ends that.
export declare function effect(act: () => void): () => void;
