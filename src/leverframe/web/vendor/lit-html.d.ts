// What the pages use of lit-html, as strict as they use it.

// The event that a listener of a template gets. Most stand on a control, so its target is taken
// for an input; a listener on something else says what it takes it for.
export interface ControlEvent extends KeyboardEvent, PointerEvent, SubmitEvent {
  readonly target: HTMLInputElement & { open: boolean };
  readonly currentTarget: HTMLElement;
  getModifierState(key: string): boolean;
}

export interface TemplateResult {
  readonly strings: TemplateStringsArray;
  readonly values: unknown[];
}
export declare const nothing: unique symbol;
export type Template =
  | TemplateResult
  | typeof nothing
  | string
  | number
  | boolean
  | null
  | undefined
  | Node
  | Template[]
  | ((event: ControlEvent) => unknown);

export declare function html(strings: TemplateStringsArray, ...values: Template[]): TemplateResult;
export declare function svg(strings: TemplateStringsArray, ...values: Template[]): TemplateResult;
export declare function render(template: Template, place: HTMLElement): void;
